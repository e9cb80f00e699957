#include "profiler/analysis/report/report.h"
#include "profiler/questions/report_reader.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shardscope::questions {
namespace {

struct Read {
    RecordingSummary summary;
    std::vector<RankEvents> ranks;
    std::vector<analysis::RankGrowth> growths;
};

Read readSample(const test::SampleOptions& options) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("sample.sscope");
    EXPECT_TRUE(test::writeSampleRecording(path, options));
    const auto reader = storage::openRecording(path);
    Read read;
    read.summary = *(*reader)->summary();
    const TimeRange whole{read.summary.bounds.begin, {read.summary.bounds.end.ns + 1}};
    for (const RankFacts& rank : read.summary.ranks)
        read.ranks.push_back(*(*reader)->rankEvents(rank.rank, whole));
    read.growths = *memoryGrowths(**reader, read.summary, read.ranks);
    return read;
}

bool findsGrowth(const Read& read) {
    const auto report = analysis::analyse(read.summary, read.ranks, {}, read.growths);
    return std::any_of(report.findings.begin(), report.findings.end(),
                       [](const auto& finding) { return finding.code == "memory-growth"; });
}

TEST(MemoryGrowths, AreThoseOfALeak) {
    test::SampleOptions options;
    options.steps = 20;
    options.leakBytes = 4'000'000;
    const Read read = readSample(options);
    ASSERT_EQ(read.growths.size(), 2u);
    EXPECT_TRUE(read.growths[0].growth.grows);
    EXPECT_EQ(read.growths[0].growth.perStep.count, 4'000'000);
    EXPECT_TRUE(findsGrowth(read));
}

TEST(MemoryGrowths, AreNoneOfARunThatFreesAll) {
    test::SampleOptions options;
    options.steps = 20;
    EXPECT_FALSE(findsGrowth(readSample(options)));
    options.memory = false;
    EXPECT_TRUE(readSample(options).growths.empty());
}

TEST(MemoryGrowths, OfFewStepsAreNotTold) {
    test::SampleOptions options;
    options.steps = 7;
    options.leakBytes = 4'000'000;
    EXPECT_TRUE(readSample(options).growths.empty());
}

}  // namespace
}  // namespace shardscope::questions
