// Selected steps in formats of other tools: ranks do not begin and end them at the same time.
#include "storage/columns/chunk.h"
#include "storage/interchange/import.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/write/recording_writer.h"
#include "tests/support/formats.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::interchange {
namespace {

using test::IsOk;

constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};
constexpr StepIndex kFirst{1}, kLast{2};
constexpr LaneId kPhases{0};

/// Two ranks with steps 0 to 3, each with a phase of its own at either end. Rank 1 is half a step
/// ahead of rank 0.
Result<void> writeUnevenSteps(const std::string& path) {
    constexpr std::int64_t kStep = 100'000;
    RunFacts run;
    run.id = "1";
    run.worldSize = 2;
    auto writer = storage::RecordingWriter::create(path, run, true);
    if (!writer) return failure(writer);
    auto done = writer->addHost({});
    for (const RankId rank : {RankId{0}, RankId{1}}) {
        RankFacts facts;
        facts.rank = rank;
        facts.emitted = 8;
        if (done) done = writer->putRank(facts);
        if (done) done = writer->addLane({rank, kPhases, LaneRole::kCompute, "step", {}, 0});
        if (done) done = writer->addStrings(rank, {1}, {"forward", "optimizer"});
        std::vector<SpanEvent> spans;
        for (std::int32_t i = 0; i < 4; ++i) {
            StepFacts step;
            step.rank = rank;
            step.step = {i};
            step.start = {10'000'000 + kStep * i - kStep / 2 * rank.value};
            step.end = step.start + Duration{kStep - 1'000};
            if (done) done = writer->addStep(step);
            for (const std::uint32_t name : {1U, 2U}) {
                SpanEvent span;
                span.duration = {kStep / 4};
                span.start = name == 1 ? step.start : step.end - span.duration;
                span.lane = kPhases;
                span.name = {name};
                span.phase = name == 1 ? Phase::kForward : Phase::kOptimizer;
                span.step = step.step;
                spans.push_back(span);
            }
            // Written when the step is over.
            if (done && rank.value == 0)
                done = writer->addMetric({"loss", step.step, step.end + Duration{500}, 1});
        }
        if (done) done = writer->addChunk(columns::encodeSpans(rank, spans));
    }
    return done ? writer->finalise(RunStatus::kFinished, {10'900'000}) : done;
}

class PartOfSteps : public testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        ASSERT_THAT(writeUnevenSteps(m_folder.file("whole.sscope")), IsOk());
        auto whole = storage::openRecording(m_folder.file("whole.sscope"));
        ASSERT_THAT(whole, IsOk());
        m_whole = std::move(*whole);
    }
    /// The steps in the format, and back.
    std::unique_ptr<storage::RecordingReader> again(const ExportOptions& part) {
        ExportOptions options = part;
        options.output = m_folder.file(std::string("part.") + GetParam());
        const auto account = exportAs(GetParam(), *m_whole, options);
        EXPECT_THAT(account, IsOk());
        if (!account) return nullptr;
        ImportOptions import;
        import.output = m_folder.file("again.sscope");
        EXPECT_THAT(importTraces(account->files, import), IsOk());
        auto reader = storage::openRecording(import.output);
        EXPECT_THAT(reader, IsOk());
        return reader ? std::move(*reader) : nullptr;
    }
    static std::set<std::pair<std::uint32_t, std::int32_t>> stepsOf(
        storage::RecordingReader& reader) {
        std::set<std::pair<std::uint32_t, std::int32_t>> steps;
        const auto summary = *reader.summary();
        for (const StepFacts& step : summary.steps)
            steps.insert({step.rank.value, step.step.value});
        return steps;
    }

    test::TemporaryFolder m_folder;
    std::unique_ptr<storage::RecordingReader> m_whole;
};

TEST_P(PartOfSteps, HasThoseOfEachRankAndNoPieceOfAnother) {
    ExportOptions part;
    part.range = TimeRange{{10'050'000}, {10'299'000}};  // from rank 1's start to rank 0's end
    part.steps.emplace(kFirst, kLast);
    const auto reader = again(part);
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(stepsOf(*reader),
              (std::set<std::pair<std::uint32_t, std::int32_t>>{{0, 1}, {0, 2}, {1, 1}, {1, 2}}));
    const auto rows = reader->query(
        "SELECT rank, step, count(*) FROM events WHERE kind='span' AND name='optimizer'"
        " AND role<>'compute' GROUP BY rank, step UNION ALL SELECT rank, step, count(*) FROM"
        " phases WHERE name='optimizer' GROUP BY rank, step ORDER BY rank, step");
    ASSERT_THAT(rows, IsOk());
    ASSERT_EQ(rows->rows.size(), 4u);
    for (const auto& row : rows->rows) {
        EXPECT_TRUE(row[1] == "1" || row[1] == "2") << row[1].value_or("no step");
        EXPECT_EQ(row[2], "1");
    }
    if (GetParam() != std::string_view("perfetto")) return;  // the only one that keeps metrics
    std::vector<StepIndex> losses;
    const auto summary = *reader->summary();
    for (const MetricPoint& metric : summary.metrics) losses.push_back(metric.step);
    EXPECT_EQ(losses, (std::vector<StepIndex>{kFirst, kLast}));
}

TEST_P(PartOfSteps, WhichARangeCutsAreNone) {
    ExportOptions part;
    part.range =
        TimeRange{{10'090'000}, {10'290'000}};  // 1 of rank 0; 2 of rank 1 begins at 150'000
    const auto reader = again(part);
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(stepsOf(*reader), (std::set<std::pair<std::uint32_t, std::int32_t>>{{0, 1}, {1, 2}}));
}

INSTANTIATE_TEST_SUITE_P(Formats, PartOfSteps, testing::Values("perfetto", "kineto"),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace shardscope::interchange
