// A part of a recording as a recording of its own.
#include "storage/interchange/export.h"

#include "storage/columns/chunk.h"
#include "storage/model/host_facts.h"
#include "storage/model/process_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/verify/verify_recording.h"
#include "storage/recording/write/recording_writer.h"
#include "tests/support/formats.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

namespace shardscope::interchange {
namespace {

using storage::openRecording;
using test::FailsAs;
using test::FailsWith;
using test::IsOk;

constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};

class ExportRecording : public ::testing::TestWithParam<bool> {
protected:
    void SetUp() override {
        ASSERT_THAT(
            test::writeSampleRecording(m_path, {.steps = 6, .gpu = GetParam(), .program = true}),
            IsOk());
        m_reader = openRecording(m_path);
        ASSERT_THAT(m_reader, IsOk());
        m_summary = *(*m_reader)->summary();
    }
    storage::RecordingReader& whole() { return **m_reader; }
    /// The exported part, checked from end to end.
    std::unique_ptr<storage::RecordingReader> part(std::optional<TimeRange> range,
                                                   std::vector<RankId> ranks = {}) {
        ExportOptions options;
        options.range = range;
        options.ranks = std::move(ranks);
        options.output = m_folder.file("part.sscope");
        options.overwrite = true;
        auto account = exportAs("sscope", whole(), options);
        EXPECT_THAT(account, IsOk());
        const auto found = storage::verifyRecording(options.output);
        EXPECT_TRUE(found && found->sound())
            << (found && !found->faults.empty() ? found->faults[0].what : "");
        auto reader = openRecording(options.output);
        EXPECT_THAT(reader, IsOk());
        if (account && reader) {
            EXPECT_EQ(account->events, (*reader)->summary()->events.total());
        }
        return reader ? std::move(*reader) : nullptr;
    }
    TimeRange rangeOf(std::int32_t first, std::int32_t last) const {
        TimeRange range{{INT64_MAX}, {0}};
        for (const StepFacts& step : m_summary.steps) {
            if (step.step.value < first || step.step.value > last) continue;
            range.begin = std::min(range.begin, step.start);
            range.end = std::max(range.end, step.end);
        }
        return range;
    }

    test::TemporaryFolder m_folder;
    std::string m_path = m_folder.file("whole.sscope");
    Result<std::unique_ptr<storage::RecordingReader>> m_reader = nullptr;
    RecordingSummary m_summary;
};

TEST_P(ExportRecording, OfEverythingIsTheSame) {
    const auto copy = part({});
    ASSERT_NE(copy, nullptr);
    const auto summary = copy->summary();
    EXPECT_EQ(summary->events.total(), m_summary.events.total());
    EXPECT_EQ(summary->run.id, m_summary.run.id);
    EXPECT_EQ(summary->steps.size(), m_summary.steps.size());
    EXPECT_EQ(summary->lanes.size(), m_summary.lanes.size());
    EXPECT_EQ(summary->devices.size(), m_summary.devices.size());
    EXPECT_EQ(summary->diagnostics.size(), m_summary.diagnostics.size());
    for (const LaneFacts& lane : m_summary.lanes) {
        const auto ours = *copy->spans(lane.rank, lane.lane, kEverything);
        const auto theirs = *whole().spans(lane.rank, lane.lane, kEverything);
        ASSERT_EQ(ours.size(), theirs.size());
        for (std::size_t i = 0; i < ours.size(); ++i) {
            EXPECT_EQ(ours[i].range(), theirs[i].range());
            EXPECT_EQ(copy->text(lane.rank, ours[i].name), whole().text(lane.rank, theirs[i].name));
            EXPECT_EQ(copy->text(lane.rank, ours[i].arguments),
                      whole().text(lane.rank, theirs[i].arguments));
        }
    }
    EXPECT_EQ(copy->rankEvents({0}, kEverything)->peakMemory,
              whole().rankEvents({0}, kEverything)->peakMemory);
}

TEST_P(ExportRecording, KeepsTheProcessesOfAProgram) {
    const auto copy = part({});
    ASSERT_NE(copy, nullptr);
    const auto& before = m_summary.processes;
    const auto after = copy->summary()->processes;
    ASSERT_EQ(before.size(), 4u);
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
        EXPECT_EQ(after[i].pid, before[i].pid);
        EXPECT_EQ(after[i].parent, before[i].parent);
        EXPECT_EQ(after[i].role, before[i].role);
        EXPECT_EQ(after[i].rank, before[i].rank);
        EXPECT_EQ(after[i].command, before[i].command);
        EXPECT_EQ(after[i].started, before[i].started);
        EXPECT_EQ(after[i].ended, before[i].ended);
        EXPECT_EQ(after[i].exitCode, before[i].exitCode);
        EXPECT_EQ(after[i].exitSignal, before[i].exitSignal);
        EXPECT_EQ(after[i].cpuTimeNs, before[i].cpuTimeNs);
        EXPECT_EQ(after[i].peakResident, before[i].peakResident);
        EXPECT_EQ(after[i].notRecorded, before[i].notRecorded);
    }
    const auto one = part(rangeOf(2, 3), {{1}});
    ASSERT_NE(one, nullptr);
    std::vector<std::int32_t> ranks;
    const auto summary = one->summary();
    for (const ProcessFacts& each : summary->processes) ranks.push_back(each.rank);
    EXPECT_EQ(ranks, (std::vector<std::int32_t>{-1, 1, -1}));
}

TEST_P(ExportRecording, KeepsWholeEventsThatReachIntoTheRange) {
    TimeRange range = rangeOf(2, 3);
    range.begin = range.begin + Duration{5'000'001};
    const auto cut = part(range);
    ASSERT_NE(cut, nullptr);
    // Of step 3, whose row is in the part, also the kernels that end after it.
    TimeRange reach = range;
    reach.end = rangeOf(4, 4).end;
    for (const LaneFacts& lane : m_summary.lanes) {
        const auto spans = whole().spans(lane.rank, lane.lane, reach);
        EXPECT_EQ(std::size_t(std::count_if(spans->begin(), spans->end(),
                                            [&](const SpanEvent& span) {
                                                return span.range().intersects(range) ||
                                                       range.contains(span.start) ||
                                                       span.step.value == 3;
                                            })),
                  cut->spans(lane.rank, lane.lane, kEverything)->size());
    }
    // A step that is cut is no step.
    const auto summary = *cut->summary();
    for (const StepFacts& step : summary.steps) EXPECT_EQ(step.step.value, 3);
    EXPECT_EQ(summary.diagnostics.back().code, "part");
}

TEST_P(ExportRecording, KnowsTheMemoryThatWasAliveBefore) {
    const TimeRange range = rangeOf(3, 4);
    const auto cut = part(range);
    ASSERT_NE(cut, nullptr);
    for (const Timestamp time :
         {range.begin, range.begin + Duration{range.duration().ns / 2}, range.end - Duration{1}}) {
        const auto ours = *cut->liveMemory({1}, time);
        const auto theirs = *whole().liveMemory({1}, time);
        ASSERT_FALSE(ours.empty());
        ASSERT_EQ(ours.size(), theirs.size());
        for (std::size_t i = 0; i < ours.size(); ++i) {
            EXPECT_EQ(ours[i].address, theirs[i].address);
            EXPECT_EQ(ours[i].size, theirs[i].size);
            const bool marked =
                cut->text({1}, ours[i].owner).find("(alive before") != std::string_view::npos;
            EXPECT_EQ(marked, theirs[i].time < range.begin);
        }
    }
    EXPECT_EQ(cut->rankEvents({1}, range)->peakMemory, whole().rankEvents({1}, range)->peakMemory);
}

TEST_P(ExportRecording, LeavesOtherRanksOut) {
    const auto one = part({}, {RankId{1}});
    ASSERT_NE(one, nullptr);
    const auto summary = *one->summary();
    ASSERT_EQ(summary.ranks.size(), 1u);
    EXPECT_EQ(summary.ranks[0].rank.value, 1u);
    for (const LaneFacts& lane : summary.lanes) EXPECT_EQ(lane.rank.value, 1u);
    EXPECT_EQ(summary.events.total(), m_summary.ranks[1].emitted - m_summary.ranks[1].dropped);
}

TEST_P(ExportRecording, FailsWithoutLeavingAFile) {
    ExportOptions options;
    options.output = m_folder.file("x.sscope");
    options.ranks = {RankId{9}};
    EXPECT_THAT(exportAs("sscope", whole(), options), FailsAs(ErrorCode::kUsage));
    options.ranks.clear();
    options.progress = [](double) { return false; };
    EXPECT_THAT(exportAs("sscope", whole(), options), FailsAs(ErrorCode::kCancelled));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(m_folder.path()), {}), 1);
    options.output = m_path;
    EXPECT_THAT(exportAs("sscope", whole(), options), FailsWith("already exists"));
}

/// Steps 0 to 3 of 100 ns; each has a collective that was fetched ahead in the step before, and one
/// that ends in the step after.
Result<void> writeReachingSteps(const std::string& path) {
    RunFacts run;
    run.id = "1";
    run.worldSize = 1;
    auto writer = storage::RecordingWriter::create(path, run, true);
    if (!writer) return failure(writer);
    RankFacts rank;
    rank.emitted = 16;
    std::vector<CollectiveEvent> collectives;
    std::vector<SpanEvent> spans;
    auto done = writer->addHost({});
    if (done) done = writer->putRank(rank);
    if (done) done = writer->addLane({{0}, {3}, LaneRole::kCommunication, "communication", {}, 3});
    if (done) done = writer->addStrings({0}, {1}, {"all-gather"});
    for (std::int32_t i = 0; i < 4; ++i) {
        StepFacts step;
        step.step = {i};
        step.start = {1000 + 100 * i};
        step.end = step.start + Duration{100};
        if (done) done = writer->addStep(step);
        for (const std::int64_t at : {-20, 90}) {
            CollectiveEvent event;
            event.step = {i};
            event.sequence = collectives.size() + 1;
            event.issue = event.start = step.start + Duration{at};
            event.end = event.start + Duration{15};
            collectives.push_back(event);
        }
    }
    std::sort(collectives.begin(), collectives.end(),
              [](const CollectiveEvent& a, const CollectiveEvent& b) { return a.start < b.start; });
    for (const CollectiveEvent& event : collectives) {
        SpanEvent span;
        span.start = event.start;
        span.duration = event.end - event.start;
        span.lane = {3};
        span.name = {1};
        span.correlation = event.sequence;
        span.step = event.step;
        spans.push_back(span);
    }
    // A step's row of metrics is written when the step is over.
    for (const std::int32_t step : {0, 1, 2, 3})
        if (done) done = writer->addMetric({"loss", {step}, {1105 + 100 * step}, 7.0 - step});
    if (done) done = writer->addMetric({"of no step", kNoStep, {1150}, 1});
    if (done) done = writer->addMetric({"of no step", kNoStep, {1350}, 1});
    if (done) done = writer->addChunk(columns::encodeSpans({0}, spans));
    if (done) done = writer->addChunk(columns::encodeCollectives({0}, collectives));
    return done ? writer->finalise(RunStatus::kFinished, {1500}) : done;
}

// What is fetched ahead for a step lies before it: a step without it would look as if it had lost
// it.
TEST(ExportSteps, AreWholeWithWhatReachesBeyondTheirTime) {
    const test::TemporaryFolder folder;
    ASSERT_THAT(writeReachingSteps(folder.file("whole.sscope")), IsOk());
    const auto reader = openRecording(folder.file("whole.sscope"));
    ASSERT_THAT(reader, IsOk());
    ExportOptions options;
    options.range = TimeRange{{1100}, {1300}};  // steps 1 and 2
    options.output = folder.file("part.sscope");
    ASSERT_THAT(exportAs("sscope", **reader, options), IsOk());
    const auto cut = openRecording(options.output);
    std::map<std::int32_t, int> collectives, spans;
    const auto events = (*cut)->rankEvents({0}, kEverything);
    for (const CollectiveEvent& event : events->collectives) ++collectives[event.step.value];
    const auto drawn = (*cut)->spans({0}, {3}, kEverything);
    for (const SpanEvent& span : *drawn) ++spans[span.step.value];
    // Of the steps around them, only what reaches into them: the end of 0, the beginning of 3.
    const std::map<std::int32_t, int> wanted{{0, 1}, {1, 2}, {2, 2}, {3, 1}};
    EXPECT_EQ(collectives, wanted);
    EXPECT_EQ(spans, wanted);
    const auto found = storage::verifyRecording(options.output);
    EXPECT_TRUE(found && found->sound());
}

// The loss of the last step is written behind it, that of the step before within the part.
TEST(ExportSteps, TakeTheirMetricsWithThem) {
    const test::TemporaryFolder folder;
    ASSERT_THAT(writeReachingSteps(folder.file("whole.sscope")), IsOk());
    const auto reader = openRecording(folder.file("whole.sscope"));
    ASSERT_THAT(reader, IsOk());
    ExportOptions options;
    options.range = TimeRange{{1100}, {1300}};  // steps 1 and 2
    options.output = folder.file("part.sscope");
    ASSERT_THAT(exportAs("sscope", **reader, options), IsOk());
    const auto cut = openRecording(options.output);
    ASSERT_THAT(cut, IsOk());
    std::multimap<std::string, StepIndex> metrics;
    const auto summary = *(*cut)->summary();
    for (const MetricPoint& metric : summary.metrics) metrics.emplace(metric.name, metric.step);
    const std::multimap<std::string, StepIndex> wanted{
        {"loss", {1}}, {"loss", {2}}, {"of no step", kNoStep}};
    EXPECT_EQ(metrics, wanted);
    const auto found = storage::verifyRecording(options.output);
    EXPECT_TRUE(found && found->sound());
}

INSTANTIATE_TEST_SUITE_P(Devices, ExportRecording, ::testing::Values(false, true));

}  // namespace
}  // namespace shardscope::interchange
