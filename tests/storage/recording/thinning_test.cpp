// Recordings that stay within a size: what is left is sound, and what is not there is declared.
#include "storage/interchange/export.h"
#include "storage/interchange/import.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/repair/salvage_recording.h"
#include "storage/recording/verify/verify_recording.h"
#include "storage/recording/write/recording_writer.h"
#include "storage/sqlite/connection.h"
#include "tests/storage/recording/long_run.h"
#include "tests/support/formats.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace shardscope::storage {
namespace {

TEST(Thinning, KeepsTheFileWithinItsSizeAndStaysTrue) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    const Bytes most{4'000'000};
    LongRun run(path, {most, std::nullopt}, 1);
    for (int i = 0; i < 8; ++i) {
        run.record(60, most);
        run.flush();
        run.expectTrue(path);
    }
    run.finalise();
    EXPECT_LE(run.largest(), most.count);
    EXPECT_GT(run.largest(), most.count / 2);
}

TEST(Thinning, IsTrueWhateverComesWhen) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    for (std::uint64_t seed = 10; seed < 15; ++seed) {
        SCOPED_TRACE(seed);
        test::RandomEvents random(seed);
        const Bytes most{random.between(4'000'000, 9'000'000)};
        LongRun run(path, {most, std::nullopt}, seed, static_cast<int>(random.between(10, 2'000)));
        for (int i = 0; i < 4; ++i) {
            run.record(static_cast<int>(random.between(5, 100)), most);
            run.flush();
            run.expectTrue(path);
        }
        run.finalise();
        run.expectTrue(path);
        EXPECT_LE(run.largest(), most.count);
    }
}

TEST(Thinning, FollowsARate) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    // 60 seconds, and a head start of ten.
    const Bytes rate{100'000};
    LongRun run(path, {std::nullopt, rate}, 3, 1'000);
    run.record(600, {70 * rate.count});
    run.finalise();
    run.expectTrue(path);
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    const auto summary = (*reader)->summary();
    ASSERT_THAT(summary, IsOk());
    ASSERT_FALSE(summary->detail.empty());
    EXPECT_EQ(summary->detail.front().reason, DetailReason::kMaxRate);
}

TEST(Thinning, KeepsFullDetailOfTheNewestSteps) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    LongRun run(path, {Bytes{4'000'000}, std::nullopt}, 4);
    run.record(1'200, {4'000'000});
    run.finalise();
    run.expectTrue(path);
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    const auto summary = (*reader)->summary();
    ASSERT_THAT(summary, IsOk());
    const StepDetail detail(summary->detail);
    const std::int32_t last = run.steps() - 1;
    EXPECT_EQ(detail.of({0}, {kFirstStep}), CaptureLevel::kSteps);
    EXPECT_EQ(detail.of({1}, {last - 20}), CaptureLevel::kFull);
    bool light = false;
    for (std::int32_t step = kFirstStep; step < last; ++step)
        light = light || detail.of({0}, {step}) == CaptureLevel::kLight;
    EXPECT_TRUE(light);
    EXPECT_EQ(detailPhrases(summary->detail).size(), 2u);
}

TEST(Thinning, AFileWithoutALimitHasNothingThinned) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    LongRun run(path, {}, 5);
    run.record(200, {1'000'000'000});
    run.finalise();
    run.expectTrue(path);
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    EXPECT_TRUE((*reader)->summary()->detail.empty());
}

/// One that is open meanwhile sees one state after the other.
TEST(Thinning, IsSeenByAReaderThatStaysOpen) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    const Bytes most{4'000'000};
    LongRun run(path, {most, std::nullopt}, 6);
    run.record(100, most);
    run.flush();
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    for (int i = 0; i < 4; ++i) {
        ASSERT_THAT((*reader)->spans({0}, kOperators, LongRun::kEverything), IsOk());
        run.record(80, most);
        run.flush();
        const auto summary = (*reader)->summary();
        ASSERT_THAT(summary, IsOk());
        const Timestamp until = thinnedUntil(summary->detail, {0}, true);
        const auto spans = (*reader)->spans({0}, kOperators, LongRun::kEverything);
        ASSERT_THAT(spans, IsOk());
        ASSERT_FALSE(spans->empty());
        EXPECT_GE(spans->front().start, until);
    }
}

/// Steps without end: what nothing can be taken out of any more is said, once, and goes on.
TEST(Thinning, SaysWhenRowsAloneAreTooMany) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    RunFacts run;
    run.id = "0123456789abcdef0123456789abcdef";
    run.worldSize = 1;
    auto writer = RecordingWriter::create(path, run, true);
    ASSERT_THAT(writer, IsOk());
    ASSERT_THAT(writer->limitSize({Bytes{4'000'000}, std::nullopt}), IsOk());
    ASSERT_THAT(writer->addHost({0, "host", "cpu", 2, {1 << 30}, "boot", 0, 0}), IsOk());
    RankFacts rank;
    rank.peakSource = "none";
    ASSERT_THAT(writer->putRank(rank), IsOk());
    for (std::int32_t i = 0; i < 120'000; ++i) {
        StepFacts step;
        step.step = {i};
        step.start = {std::int64_t{i} * 1'000'000'000};
        step.end = {step.start.ns + 900'000'000};
        ASSERT_THAT(writer->addStep(step), IsOk());
        if (i % 1000 == 0) {
            ASSERT_THAT(writer->flush(), IsOk());
        }
    }
    ASSERT_THAT(writer->finalise(RunStatus::kFinished, {1}), IsOk());
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    const auto summary = (*reader)->summary();
    ASSERT_THAT(summary, IsOk());
    EXPECT_EQ(summary->steps.size(), 120'000u);
    ASSERT_EQ(summary->diagnostics.size(), 1u);
    EXPECT_EQ(summary->diagnostics.front().code, "size-limit-exceeded");
}

TEST(Thinning, OutlivesRepair) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope"), mended = folder.file("mended.sscope");
    LongRun run(path, {Bytes{4'000'000}, std::nullopt}, 8);
    run.record(300, {4'000'000});
    run.finalise();
    const auto salvaged = salvageRecording(path, mended, false, {});
    ASSERT_THAT(salvaged, IsOk());
    EXPECT_TRUE(salvaged->lossless()) << salvaged->lostEvents() << " " << salvaged->unreceived;
    run.expectTrue(mended);
}

TEST(Thinning, OutlivesCopiesAndParts) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope"), part = folder.file("part.sscope"),
                      copy = folder.file("copy.sscope");
    LongRun run(path, {Bytes{4'000'000}, std::nullopt}, 12);
    run.record(500, {4'000'000});
    run.finalise();
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    const auto summary = (*reader)->summary();
    ASSERT_THAT(summary, IsOk());
    interchange::ImportOptions import;
    import.output = copy;
    ASSERT_THAT(interchange::importRecordings({path}, std::string(32, 'a'), import), IsOk());
    run.expectTrue(copy);
    // Half of it lies in what was thinned.
    const Timestamp until = thinnedUntil(summary->detail, {0}, true);
    interchange::ExportOptions options;
    options.output = part;
    options.range = TimeRange{until - Duration{50 * kStep.ns}, until + Duration{20 * kStep.ns}};
    ASSERT_THAT(interchange::exportAs("sscope", **reader, options), IsOk());
    const auto found = verifyRecording(part);
    ASSERT_THAT(found, IsOk());
    for (const Fault& fault : found->faults) ADD_FAILURE() << fault.where << ": " << fault.what;
    const auto cut = (*openRecording(part))->summary();
    ASSERT_THAT(cut, IsOk());
    ASSERT_FALSE(cut->detail.empty());
    EXPECT_FALSE(cut->detail.front().removed.has_value());
    const StepDetail whole(summary->detail), own(cut->detail);
    for (const StepFacts& step : cut->steps)
        EXPECT_EQ(own.of(step.rank, step.step), whole.of(step.rank, step.step)) << step.step.value;
}

TEST(Thinning, WrongDeclarationsAreFaults) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope"), whole = folder.file("whole.sscope");
    LongRun run(whole, {Bytes{4'000'000}, std::nullopt}, 9);
    run.record(450, {4'000'000});
    run.finalise();
    for (const char* sql :
         {"DELETE FROM detail", "UPDATE detail SET removed=removed-1", "UPDATE detail SET level=3",
          "UPDATE detail SET end_ns=end_ns+1000000000", "UPDATE detail SET reason=9",
          "UPDATE detail SET rank=7", "UPDATE detail SET last_step=first_step-1"}) {
        std::filesystem::copy_file(whole, path, std::filesystem::copy_options::overwrite_existing);
        {
            auto connection = Connection::open(path, Connection::Mode::kCreate);
            ASSERT_THAT(connection->execute(sql), IsOk());
            ASSERT_THAT(connection->execute("DELETE FROM meta WHERE key LIKE 'checksum.%'"),
                        IsOk());
        }
        const auto found = verifyRecording(path);
        ASSERT_THAT(found, IsOk());
        EXPECT_FALSE(found->sound()) << sql;
    }
}

}  // namespace
}  // namespace shardscope::storage
