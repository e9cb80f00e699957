#include "profiler/analysis/report/report.h"

#include "engine/run/config/run_config.h"
#include "engine/run/theory/theory.h"
#include "profiler/analysis/findings.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/timeline.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace shardscope::analysis {
namespace {

using test::SampleOptions;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Report reportOf(const SampleOptions& options) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    EXPECT_THAT(test::writeSampleRecording(path, options), test::IsOk());
    auto reader = storage::openRecording(path).value();
    const auto summary = reader->summary().value();
    std::vector<RankEvents> ranks;
    for (const RankFacts& rank : summary.ranks)
        ranks.push_back(
            reader->rankEvents(rank.rank, {summary.bounds.begin, {summary.bounds.end.ns + 1}})
                .value());
    return analyse(summary, ranks);
}

TEST(Report, CertifiesACompleteRun) {
    const Report report = reportOf({});
    EXPECT_TRUE(report.completeness.known);
    EXPECT_TRUE(report.completeness.complete);
    EXPECT_THAT(report.completeness.missing, IsEmpty());
    EXPECT_EQ(report.ledger.size(), 20u);
    EXPECT_EQ(report.lossFirst, 5.5);
    EXPECT_TRUE(report.validationLossLast.has_value());
    EXPECT_GT(*report.overlap.ratio(), 0.5);
}

TEST(Report, NamesNoLateRankWhereClocksAreInDoubtByMore) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(test::writeSampleRecording(path, {}), test::IsOk());
    auto reader = storage::openRecording(path).value();
    auto summary = reader->summary().value();
    std::vector<RankEvents> ranks;
    for (const RankFacts& rank : summary.ranks)
        ranks.push_back(
            reader->rankEvents(rank.rank, {summary.bounds.begin, {summary.bounds.end.ns + 1}})
                .value());
    const auto before = nlohmann::json::parse(toJson(analyse(summary, ranks)));
    ASSERT_FALSE(before.at("waiting").empty());
    EXPECT_TRUE(before.at("waiting")[0].at("late_rank").is_number());
    EXPECT_TRUE(before.at("clocks").empty()) << "one host";
    for (const std::int32_t host : {0, 1}) {
        HostFacts facts;
        facts.host = host;
        facts.clockErrorNs = host * 1'000'000'000;
        summary.hosts.resize(static_cast<std::size_t>(host));
        summary.hosts.push_back(facts);
        summary.ranks.at(static_cast<std::size_t>(host)).host = host;
    }
    for (RankEvents& events : ranks)
        for (CollectiveEvent& event : events.collectives)
            event.operation = CollectiveOp::kBroadcast;
    const auto after = nlohmann::json::parse(toJson(analyse(summary, ranks)));
    ASSERT_EQ(after.at("waiting").size(), 1u);
    EXPECT_TRUE(after.at("waiting")[0].at("late_rank").is_null());
    EXPECT_THAT(after.at("waiting")[0].at("reason").get<std::string>(), HasSubstr("in doubt"));
    EXPECT_GT(after.at("waiting")[0].at("waited_ns").get<std::int64_t>(), 0);
    ASSERT_EQ(after.at("clocks").size(), 2u);
    EXPECT_EQ(after.at("clocks")[1].at("residual_ns"), 1'000'000'000);
}

TEST(Report, SaysWhichStepMissesAGather) {
    const Report report = reportOf({.dropGathersOfStep = 3});
    EXPECT_FALSE(report.completeness.complete);
    EXPECT_THAT(report.completeness.missing,
                Contains(HasSubstr("rank 1 step 3: 12 of 13 gathers are recorded")));
}

TEST(Report, MissesTheRowsOfStepsWhoseEventsAreThere) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(test::writeSampleRecording(path, {}), test::IsOk());
    auto reader = storage::openRecording(path).value();
    auto summary = reader->summary().value();
    std::vector<RankEvents> ranks;
    for (const RankFacts& rank : summary.ranks)
        ranks.push_back(
            reader->rankEvents(rank.rank, {summary.bounds.begin, {summary.bounds.end.ns + 1}})
                .value());
    const auto without = [&](std::initializer_list<int> steps) {
        RecordingSummary left = summary;
        left.steps.eraseIf([&](const StepFacts& facts) {
            return std::find(steps.begin(), steps.end(), facts.step.value) != steps.end();
        });
        return left;
    };
    EXPECT_THAT(certify(without({4}), ranks).missing,
                Contains(HasSubstr("rank 1 step 4: has events, its row in steps is missing")));
    EXPECT_FALSE(certify(without({7, 8, 9}), ranks).complete);
    // A part holds what reaches into it of the steps around its own, but no hole.
    summary.diagnostics.emplace_back().code = kPartOfRecording;
    EXPECT_TRUE(certify(without({0, 8, 9}), ranks).complete);
    EXPECT_FALSE(certify(without({0, 4}), ranks).complete);
    summary.lostRows.push_back({"metrics", 40, 3});
    EXPECT_THAT(
        certify(without({0}), ranks).missing,
        Contains(HasSubstr("table metrics: 3 rows are in the file, 40 were when it was final")));
}

TEST(Report, CountsDroppedEvents) {
    const Report report = reportOf({.dropped = 5});
    EXPECT_EQ(report.dropped, 10u);
    EXPECT_FALSE(report.completeness.complete);
    EXPECT_THAT(report.completeness.missing, Contains(HasSubstr("rank 0: 5 of")));
}

TEST(Report, SaysWhenTheWriterNeverFinished) {
    const Report report = reportOf({.finalise = false});
    EXPECT_FALSE(report.finalised);
    EXPECT_THAT(report.completeness.missing, Contains(HasSubstr("not finalised")));
}

TEST(Report, CountsWhatRanksThatShareLayersExchanged) {
    auto timeline = test::drawTimeline("rank 0 comm |aaa.aaa|\nrank 0 step |sssssss|");
    ASSERT_EQ(timeline.ranks[0].collectives.size(), 2u);
    timeline.ranks[0].collectives[0].cause = Cause::kActivation;
    timeline.ranks[0].collectives[1].cause = Cause::kActivationGradient;
    StepFacts& step = timeline.summary.steps.own().front();
    step.expectedExchanges = 2;
    for (CollectiveEvent& event : timeline.ranks[0].collectives) event.step = step.step;
    const auto isGap = HasSubstr("exchanges are recorded");
    EXPECT_THAT(certify(timeline.summary, timeline.ranks).missing, testing::Not(Contains(isGap)));
    step.expectedExchanges = 3;
    EXPECT_THAT(certify(timeline.summary, timeline.ranks).missing,
                Contains(HasSubstr("2 of 3 exchanges are recorded")));
}

TEST(Report, SaysFirstThatTheWriterNeverFinishedWhateverElseIsMissing) {
    RecordingSummary summary;
    summary.run.worldSize = 1;
    summary.ranks.resize(1);
    for (std::int32_t step = 0; step < 30; ++step) {
        StepFacts facts;
        facts.step = {step};
        facts.start = {step * 10};
        facts.end = {step * 10 + 9};
        facts.expectedGathers = 4;
        summary.steps.push_back(facts);
    }
    const Report report = analyse(summary, {});
    ASSERT_GT(report.completeness.missing.size(), 20u);
    EXPECT_THAT(report.completeness.missing.front(), HasSubstr("not finalised"));
}

/// A file that is copied without its log holds no steps yet.
TEST(Report, OfAnUnfinishedFileWithoutStepsTheCaptureLevelIsNotTheReason) {
    RecordingSummary summary;
    summary.run.worldSize = 1;
    const Report report = analyse(summary, {});
    EXPECT_FALSE(report.completeness.known);
    ASSERT_FALSE(report.completeness.missing.empty());
    for (const std::string& sentence : report.completeness.missing)
        EXPECT_THAT(sentence, testing::Not(HasSubstr("capture level")));
}

TEST(Report, CompletenessIsUnknownAtALowCaptureLevel) {
    auto timeline = test::drawTimeline("rank 0 step |ssss1sss2sss|");
    timeline.summary.run.model = "tiny";
    const Report report = analyse(timeline.summary, timeline.ranks);
    EXPECT_FALSE(report.completeness.known);
    EXPECT_FALSE(report.completeness.complete);
    EXPECT_THAT(report.completeness.missing,
                Contains(HasSubstr("were not recorded at this capture level")));
    EXPECT_THAT(report.ledger, IsEmpty());
}

/// Of ten steps the first three were thinned to steps, the next two to light.
TEST(Report, OfThinnedStepsSaysWhatItStandsOn) {
    const Report whole = reportOf({.steps = 10});
    EXPECT_TRUE(whole.basis.whole());
    EXPECT_EQ(whole.basis.steps, 10);
    EXPECT_THAT(whole.basis.leftOut, IsEmpty());
    const test::TemporaryFolder folder;
    ASSERT_TRUE(test::writeSampleRecording(folder.file("run.sscope"), {.steps = 10}));
    const auto reader = storage::openRecording(folder.file("run.sscope"));
    auto summary = (*reader)->summary();
    std::vector<RankEvents> ranks;
    for (const RankFacts& rank : summary->ranks) {
        for (const auto& [level, last] :
             {std::pair{CaptureLevel::kSteps, 2}, std::pair{CaptureLevel::kLight, 4}}) {
            DetailFacts facts;
            facts.rank = rank.rank;
            facts.first = {0};
            facts.last = {last};
            facts.level = level;
            facts.reason = DetailReason::kMaxSize;
            facts.removed = 0;
            summary->detail.push_back(facts);
        }
        RankEvents events = *(*reader)->rankEvents(rank.rank, summary->bounds);
        const auto gone = [](StepIndex step) { return step.value <= 2; };
        std::erase_if(events.phases, [&](const SpanEvent& e) { return gone(e.step); });
        std::erase_if(events.collectives, [&](const CollectiveEvent& e) { return gone(e.step); });
        ranks.push_back(std::move(events));
    }
    const Report report = analyse(*summary, ranks);
    EXPECT_TRUE(report.completeness.known);
    EXPECT_THAT(report.completeness.missing, IsEmpty());
    EXPECT_EQ(report.basis.detailed, 7);
    EXPECT_EQ(report.ledger.size(), 14u);
    EXPECT_THAT(
        report.basis.leftOut,
        testing::ElementsAre("detail of steps 0 to 2 thinned to level steps by --max-size",
                             "detail of steps 0 to 4 thinned to level light by --max-size"));
    EXPECT_EQ(report.stepSecondsMedian, whole.stepSecondsMedian);
    // What is not declared is missing.
    summary->detail.clear();
    EXPECT_FALSE(analyse(*summary, ranks).completeness.complete);
}

TEST(Report, SaysWhichRankLacksSteps) {
    auto timeline = test::drawTimeline(R"(
        rank 0 step |ssss1sss2sss|
        rank 1 step |ssss1sss....|
    )");
    const Report report = analyse(timeline.summary, timeline.ranks);
    EXPECT_THAT(report.completeness.missing, Contains("rank 1: 2 of 3 steps are recorded"));
}

TEST(Throughput, IsTokensOfAStepOverTheMedianStepOfAllRanks) {
    auto timeline = test::drawTimeline(R"(
        rank 0 step |sss1sss.2sss....|
        rank 1 step |.sss1sss2sssss..|
    )");
    const Report report = analyse(timeline.summary, timeline.ranks);
    // Walls over both ranks: 0-4, 3-8 and 8-14 ticks; median 5 us, 2,000 tokens.
    EXPECT_DOUBLE_EQ(*report.stepSecondsMedian, 5e-6);
    EXPECT_DOUBLE_EQ(*report.tokensPerSecond, 2000 / 5e-6);
    EXPECT_EQ(report.warmupStepsLeftOut, 0);
}

TEST(Throughput, LeavesWarmUpAndEvaluationStepsOut) {
    auto timeline = test::drawTimeline(R"(
        rank 0 step    |sssssssss1ssssssss2ssss3sssssss4ssss|
        rank 0 compute |fffffffffffffffffffffffffffeeeefffff|
    )");
    const Report report = analyse(timeline.summary, timeline.ranks);
    EXPECT_EQ(report.warmupStepsLeftOut, 2);
    EXPECT_DOUBLE_EQ(*report.stepSecondsMedian, 5e-6);
}

TEST(Mfu, IsPalmFlopsOverThePeakOfAllRanks) {
    const Report report = reportOf({});
    const run::ModelConfig model;
    ASSERT_TRUE(report.mfu.value.has_value());
    EXPECT_DOUBLE_EQ(*report.mfu.value,
                     *report.tokensPerSecond * theory::palmFlopsPerToken(model) / 1.8e11);
    EXPECT_EQ(report.mfu.peakFlops, 1.8e11);
    EXPECT_EQ(report.mfu.variant, "palm");
    EXPECT_THAT(report.mfu.peakSource, HasSubstr("measured"));
}

TEST(Mfu, IsAbsentWithAReasonWithoutAPeak) {
    const Report report = reportOf({.steps = 3, .peakKnown = false});
    EXPECT_FALSE(report.mfu.value.has_value());
    EXPECT_THAT(report.mfu.reason, HasSubstr("rank 0 has no known peak: not measured"));
}

TEST(Mfu, AboveThePeakIsFlagged) {
    auto timeline = test::drawTimeline("rank 0 step |ssss1sss2sss|");
    const run::RunConfig config;
    timeline.summary.run.configJson = run::toJson(config);
    timeline.summary.run.model = "ref";
    timeline.summary.ranks[0].peakFlops = 1e6;
    timeline.summary.ranks[0].peakSource = "a test";
    const Report report = analyse(timeline.summary, timeline.ranks);
    EXPECT_GT(*report.mfu.value, 1.0);
    ASSERT_EQ(report.diagnostics.size(), 1u);
    EXPECT_EQ(report.diagnostics[0].code, "mfu-above-peak");
    EXPECT_THAT(report.diagnostics[0].message, HasSubstr("peak of 1.00 MFLOP/s (a test)"));
}

TEST(Memory, ComparesThePeakWithTheory) {
    const Report report = reportOf({});
    ASSERT_EQ(report.memory.size(), 2u);
    const RankMemory& memory = report.memory[0];
    EXPECT_TRUE(memory.known);
    Bytes sum;
    for (const Bytes bytes : memory.byCategory) sum += bytes;
    EXPECT_EQ(sum, memory.peak);
    EXPECT_EQ(memory.theory, theory::total(memory.theoryByCategory));
    const auto shards = static_cast<std::size_t>(MemoryCategory::kParameterShard);
    EXPECT_EQ(memory.byCategory[shards], memory.theoryByCategory[shards]);
}

TEST(Memory, IsUnknownWithoutMemoryEvents) {
    const Report report = reportOf({.steps = 2, .memory = false});
    EXPECT_FALSE(report.memory[0].known);
    const auto json = nlohmann::json::parse(toJson(report));
    EXPECT_TRUE(json["memory"][0]["peak_bytes"].is_null());
}

TEST(ReportJson, HasWhatTheUserCallsTheRun) {
    RecordingSummary summary;
    summary.facts = rowsOf(RunLabel{"first try", {"small", "bf16"}});
    const auto run = nlohmann::json::parse(toJson(analyse(summary, {}))).at("run");
    EXPECT_EQ(run.at("name"), "first try");
    EXPECT_EQ(run.at("tags"), (std::vector<std::string>{"small", "bf16"}));
    EXPECT_TRUE(nlohmann::json::parse(toJson(Report())).at("run").at("name").is_null());
}

TEST(ReportJson, HasTheStableKeys) {
    const auto json = nlohmann::json::parse(toJson(reportOf({})));
    EXPECT_EQ(json["schema"], "shardscope.report/1");
    EXPECT_EQ(json["run"]["parameters"], 10'774'272);
    EXPECT_EQ(json["run"]["strategy"], "zero3");
    EXPECT_EQ(json["run"]["world_size"], 2);
    EXPECT_TRUE(json["loss"]["first"].is_number());
    EXPECT_TRUE(json["loss"]["last"].is_number());
    EXPECT_TRUE(json["throughput"]["tokens_per_s"].is_number());
    EXPECT_TRUE(json["throughput"]["step_s_median"].is_number());
    for (const char* key : {"value", "variant", "peak_flops", "peak_source"})
        EXPECT_TRUE(json["mfu"].contains(key)) << key;
    for (const char* key : {"ratio", "communication_ns", "hidden_ns", "exposed_ns"})
        EXPECT_TRUE(json["overlap"][key].is_number()) << key;
    const auto& row = json["ledger"][0];
    std::int64_t sum = 0;
    for (const auto& part : row["parts"]) sum += part.get<std::int64_t>();
    EXPECT_EQ(row["wall_ns"], sum);
    EXPECT_TRUE(row.contains("rank") && row.contains("step"));
    for (const char* key : {"rank", "peak_bytes", "by_category", "theory_bytes"})
        EXPECT_TRUE(json["memory"][0].contains(key)) << key;
    EXPECT_EQ(json["completeness"]["complete"], true);
    EXPECT_TRUE(json["completeness"]["missing"].is_array());
    EXPECT_TRUE(json["events"].is_number_unsigned());
    EXPECT_EQ(json["dropped"], 0);
    EXPECT_GT(json["file_bytes"].get<std::int64_t>(), 0);
}

TEST(ReportJson, OfNothingIsStillADocument) {
    const auto json = nlohmann::json::parse(toJson(analyse({}, {})));
    EXPECT_TRUE(json["mfu"]["value"].is_null());
    EXPECT_TRUE(json["loss"]["first"].is_null());
    EXPECT_TRUE(json["overlap"]["ratio"].is_null());
}

}  // namespace
}  // namespace shardscope::analysis
