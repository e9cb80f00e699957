// Single rules, and what a report may say where they find nothing.
#include "engine/run/config/run_config.h"
#include "profiler/analysis/rules/rule.h"
#include "profiler/analysis/rules/run_findings.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/profiler/analysis/made_run.h"
#include "tests/support/word_list_test.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace shardscope::test {

using RuleWords = testing::Types<analysis::SlowReason>;
INSTANTIATE_TYPED_TEST_SUITE_P(Rules, WordList, RuleWords);

}  // namespace shardscope::test

namespace shardscope::analysis {
namespace {

using test::Lateness;
using test::MadeRun;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

MadeRun healthy() {
    MadeRun run([](int step) { return Lateness{static_cast<std::uint32_t>(step % 2), 1'000}; });
    run.summary.complete = true;
    return run;
}

std::vector<RunFinding> findingsOf(const MadeRun& run,
                                   const std::vector<RankGrowth>& growths = {}) {
    return analyse(run.summary, run.ranks, {}, growths).findings;
}

TEST(Rules, ARankThatIsLateForAStretchIsNamedWithIt) {
    const MadeRun run([](int step) {
        return step >= 8 && step < 14 ? Lateness{1, 600'000, Phase::kForward, false}
                                      : Lateness{static_cast<std::uint32_t>(step % 2), 0};
    });
    const auto found = findingsOf(run);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].code, "late-rank");
    EXPECT_EQ(found[0].rank, RankId{1});
    EXPECT_EQ(found[0].steps, std::pair(StepIndex{8}, StepIndex{13}));
    EXPECT_THAT(found[0].detail, HasSubstr("Why: not running"));
    EXPECT_FALSE(found[0].remedy.empty());
    // Both end 600 us earlier in each of 6 steps.
    EXPECT_EQ(found[0].cost, Duration{2 * 6 * 600'000});
}

TEST(Rules, ARankThatIsLateForAStretchWithoutACoreIsNotToBlame) {
    MadeRun run([](int step) {
        return step >= 8 && step < 14 ? Lateness{1, 600'000, Phase::kForward, false}
                                      : Lateness{static_cast<std::uint32_t>(step % 2), 0};
    });
    for (StepFacts& step : run.summary.steps.own())
        step.coreWaitNs = step.step.value >= 8 && step.step.value < 14 ? 400'000 : 0;
    const auto found = findingsOf(run);
    ASSERT_EQ(found.size(), 2u) << "no rank is named";
    for (const RunFinding& each : found) EXPECT_EQ(each.severity, Severity::kNote) << each.title;
    const bool first = found[0].code == "slow-stretch";
    const RunFinding &stretch = found[first ? 0 : 1], &taken = found[first ? 1 : 0];
    EXPECT_EQ(stretch.code, "slow-stretch");
    EXPECT_EQ(stretch.steps, std::pair(StepIndex{8}, StepIndex{13}));
    EXPECT_THAT(stretch.detail, HasSubstr("Why: cores taken"));
    EXPECT_EQ(taken.code, "cores-taken");
    EXPECT_THAT(taken.title, HasSubstr("without a core for 1"));
}

TEST(Rules, WarnOfWhatCostsEnoughOfTheStepsTime) {
    const MadeRun run = healthy();
    const Report report = analyse(run.summary, run.ranks);
    const Surroundings unknown;
    const RuleInput input = ruleInput(run.summary, run.ranks, {}, report, {}, unknown);
    const std::int64_t wall = wallOf(input).ns;
    EXPECT_EQ(wall, 18 * 2 * 1'001'000);
    EXPECT_EQ(severityOf({wall / 20 + 1}, input), Severity::kWarning);
    EXPECT_EQ(severityOf({wall / 20 - 1}, input), Severity::kNote);
}

/// What is found where devices waited for the host for `share` of every n-th step.
MaybeFinding hostBound(double share, int everyNth, const std::string& config) {
    MadeRun run = healthy();
    run.summary.run.configJson = config;
    Report report = analyse(run.summary, run.ranks);
    for (LedgerRow& row : report.ledger) {
        row.parts = {};
        const Duration idle{static_cast<std::int64_t>(share * static_cast<double>(row.wall.ns))};
        if (row.step.value % everyNth == 0) row.parts[at(LedgerPart::kHostBound)] = idle;
        row.parts[at(LedgerPart::kCompute)] = row.wall - row.parts[at(LedgerPart::kHostBound)];
    }
    const Surroundings unknown;
    return findHostBound(ruleInput(run.summary, run.ranks, {}, report, {}, unknown));
}

/// What is found where ranks get their batches for `share` of every n-th step.
MaybeFinding dataBound(double share, int everyNth, const std::string& config) {
    MadeRun run = healthy();
    run.summary.run.configJson = config;
    Report report = analyse(run.summary, run.ranks);
    for (LedgerRow& row : report.ledger) {
        const Duration data{static_cast<std::int64_t>(share * static_cast<double>(row.wall.ns))};
        row.parts = {};
        if (row.step.value % everyNth == 0) row.parts[at(LedgerPart::kData)] = data;
        row.parts[at(LedgerPart::kCompute)] = row.wall - row.parts[at(LedgerPart::kData)];
    }
    const Surroundings unknown;
    return findDataBound(ruleInput(run.summary, run.ranks, {}, report, {}, unknown));
}

TEST(Rules, WarnOfStepsThatWaitForTheirBatches) {
    const auto found = dataBound(0.4, 1, std::string(kProgramConfig) + "{}}");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->code, "data-bound");
    EXPECT_EQ(found->severity, Severity::kWarning);
    EXPECT_THAT(found->title, HasSubstr("40 % of the steps"));
    EXPECT_THAT(found->remedy, HasSubstr("num_workers"));
    EXPECT_EQ(found->cost, Duration{static_cast<std::int64_t>(0.4 * 1'001'000) * 18 * 2});
    EXPECT_FALSE(dataBound(0.1, 1, "")) << "some time always goes into batches";
    EXPECT_FALSE(dataBound(0.9, 2, "")) << "a step that others do not resemble is a slow step";
}

std::string configOf(CaptureLevel capture, bool graphs,
                     run::Offload offload = run::Offload::kNone) {
    run::RunConfig config;
    config.device = run::Device::kCuda;
    config.offload = offload;
    config.capture = capture;
    config.graphs = graphs;
    return run::toJson(config);
}

TEST(Rules, WarnOfDevicesThatWaitForTheirHost) {
    const auto found = hostBound(0.4, 1, configOf(CaptureLevel::kLight, false));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->severity, Severity::kWarning);
    EXPECT_THAT(found->title, HasSubstr("40 % of the steps"));
    EXPECT_THAT(found->remedy, HasSubstr("--graphs"));
    EXPECT_EQ(found->cost, Duration{static_cast<std::int64_t>(0.4 * 1'001'000) * 18 * 2});
    EXPECT_FALSE(hostBound(0.1, 1, "")) << "some time always passes between kernels";
    EXPECT_FALSE(hostBound(0.9, 2, "")) << "a step that others do not resemble is a slow step";
}

/// What a run of ours does already is not advised again; nor are options to another's.
TEST(Rules, AdviseWhatThatRunCanDoAboutItsHost) {
    const auto graphs = hostBound(0.4, 1, configOf(CaptureLevel::kLight, true));
    EXPECT_THAT(graphs->remedy, Not(HasSubstr("--graphs")));
    const auto offloaded =
        hostBound(0.4, 1, configOf(CaptureLevel::kLight, false, run::Offload::kGradients));
    EXPECT_THAT(offloaded->remedy, Not(HasSubstr("--graphs"))) << "which excludes it";
    const auto full = hostBound(0.4, 1, configOf(CaptureLevel::kFull, false));
    EXPECT_EQ(full->severity, Severity::kNote);
    EXPECT_THAT(full->remedy, HasSubstr("--capture light"));
    const auto imported = hostBound(0.4, 1, "");
    EXPECT_EQ(imported->severity, Severity::kWarning);
    EXPECT_THAT(imported->remedy, Not(HasSubstr("--")));
}

TEST(Rules, MakeANoteOfARankThatIsLateForWantOfACore) {
    MadeRun run([](int) { return Lateness{1, 300'000, Phase::kForward, false}; }, true, 2);
    const auto lateOf = [&] {
        const auto found = findingsOf(run);
        const auto late = std::find_if(found.begin(), found.end(),
                                       [](const auto& each) { return each.code == "late-rank"; });
        EXPECT_NE(late, found.end());
        return late == found.end() ? RunFinding() : *late;
    };
    EXPECT_EQ(lateOf().severity, Severity::kWarning);
    for (StepFacts& step : run.summary.steps.own())
        step.coreWaitNs = step.rank == RankId{1} ? 250'000 : 1'000;
    EXPECT_EQ(lateOf().severity, Severity::kNote);
    EXPECT_THAT(lateOf().detail, HasSubstr("Why: no core"));
}

/// Rank 1 is blocked while its own data moves, and late therefore.
TEST(Rules, MakeANoteOfOwnCommunicationWhereRanksShareTheirMemory) {
    MadeRun run([](int) { return Lateness{1, 300'000, Phase::kWaitReduction, true}; }, true, 2);
    const auto severity = [&]() -> std::optional<Severity> {
        for (const RunFinding& finding : findingsOf(run))
            if (finding.code == "late-rank" &&
                finding.detail.find("Why: own communication") != std::string::npos)
                return finding.severity;
        return std::nullopt;
    };
    EXPECT_EQ(severity(), Severity::kNote);
    run.summary.ranks.resize(2);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
        run.summary.ranks[rank].rank = {rank};
        run.summary.ranks[rank].host = static_cast<std::int32_t>(rank);
    }
    EXPECT_EQ(severity(), Severity::kWarning) << "each has a link of its own";
}

/// Of two slow steps the slower one is step 9.
MadeRun withSlowSteps() {
    MadeRun run([](int step) {
        return step == 9    ? Lateness{1, 3'000'000}
               : step == 12 ? Lateness{1, 2'500'000}
                            : Lateness{static_cast<std::uint32_t>(step % 2), 1'000};
    });
    for (StepFacts& step : run.summary.steps.own()) step.coreWaitNs = 20'000;
    return run;
}

RunFinding slowStepOf(const MadeRun& run) {
    const auto found = findingsOf(run);
    const auto slow = std::find_if(found.begin(), found.end(),
                                   [](const RunFinding& each) { return each.code == "slow-step"; });
    return slow == found.end() ? RunFinding{} : *slow;
}

TEST(Rules, NameTheSlowestStepFirstAndTheOthersByReason) {
    MadeRun run = withSlowSteps();
    EXPECT_EQ(slowStepOf(run).steps->first, StepIndex{9});
    EXPECT_EQ(slowStepOf(run).severity, Severity::kWarning);
    const auto takeCore = [&run](std::int32_t number, std::int64_t ns) {
        for (StepFacts& step : run.summary.steps.own())
            if (step.step == StepIndex{number} && step.rank == RankId{1}) step.coreWaitNs += ns;
    };
    takeCore(9, 2'000'000);
    EXPECT_EQ(slowStepOf(run).steps->first, StepIndex{9}) << "whatever its reason";
    EXPECT_EQ(slowStepOf(run).severity, Severity::kWarning) << "for the other one";
    EXPECT_THAT(slowStepOf(run).detail,
                HasSubstr("Rank 1 was late. Why: cores taken (67 % of what it took more)"));
    EXPECT_THAT(slowStepOf(run).detail, HasSubstr("The others: 1 compute."));
    takeCore(12, 2'000'000);
    const RunFinding taken = slowStepOf(run);
    EXPECT_EQ(taken.steps->first, StepIndex{9});
    EXPECT_EQ(taken.severity, Severity::kNote);
    EXPECT_THAT(taken.detail, HasSubstr("The others: 1 cores taken."));
    EXPECT_THAT(taken.remedy, HasSubstr("run less beside it"));
}

TEST(Rules, NameTheRankWhoseMemoryGrowsMost) {
    const RankGrowth still{RankId{0}, {false, {0}, {0}}}, some{RankId{1}, {true, {10}, {100}}},
        most{RankId{2}, {true, {20}, {200}}};
    EXPECT_THAT(findingsOf(healthy(), {still}), IsEmpty());
    const auto found = findingsOf(healthy(), {still, some, most});
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].code, kMemoryGrowth);
    EXPECT_EQ(found[0].rank, RankId{2});
    EXPECT_EQ(found[0].severity, Severity::kWarning);
    EXPECT_FALSE(found[0].cost);
}

TEST(Rules, OrderFindingsBySeverityThenCost) {
    MadeRun run([](int step) { return step == 9 ? Lateness{1, 3'000'000} : Lateness{1, 150'000}; });
    for (std::int32_t i = 0; i < 20; ++i)
        run.summary.metrics.push_back(
            {"loss", {i}, {i}, i == 19 ? std::numeric_limits<double>::quiet_NaN() : 2.0});
    const Report report = analyse(run.summary, run.ranks, {}, {{RankId{0}, {true, {1}, {10}}}});
    std::vector<std::string> codes;
    for (const RunFinding& finding : report.findings) codes.push_back(finding.code);
    EXPECT_THAT(codes,
                testing::ElementsAre("not-finite", "slow-step", "memory-growth", "late-rank"));
    const auto json = nlohmann::json::parse(toJson(report)).at("findings");
    EXPECT_EQ(json.at(0).at("cost_ns"), nullptr);
    EXPECT_EQ(json.at(0).at("severity"), "problem");
    EXPECT_EQ(json.at(1).at("cost_ns"), 2 * (3'000'000 - 150'000));
    EXPECT_EQ(json.at(3).at("severity"), "note") << "for the same work, in below a second";
    EXPECT_EQ(json.at(3).at("cost_ns"), 2 * (17 * 150'000 + 3'000'000));
    EXPECT_FALSE(json.at(1).at("remedy").get<std::string>().empty());
}

TEST(Rules, TakeAGradientNormForANote) {
    MadeRun run = healthy();
    for (std::int32_t i = 0; i < 30; ++i) {
        run.summary.metrics.push_back({"loss", {i}, {i}, 2.0});
        run.summary.metrics.push_back({"gradient_norm", {i}, {i}, i == 25 ? 9 : 1 + 0.1 * (i % 3)});
    }
    const auto found = findingsOf(run);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].code, "gradient-norm");
    EXPECT_EQ(found[0].severity, Severity::kNote);
    EXPECT_EQ(found[0].steps->first, StepIndex{25});
}

Judged judgedOf(const MadeRun& run) {
    return analyse(run.summary, run.ranks).judged;
}

TEST(Judged, IsAWholeRun) {
    EXPECT_TRUE(judgedOf(healthy()).enough);
    EXPECT_THAT(judgedOf(healthy()).unknown, Contains(HasSubstr("loss and gradients: none")));
}

TEST(Judged, IsNotWhatWasCutOrLacksSomething) {
    const auto expectLack = [](const MadeRun& run, const char* what) {
        const Judged judged = judgedOf(run);
        EXPECT_FALSE(judged.enough) << what;
        EXPECT_THAT(judged.unknown, Contains(HasSubstr(what)));
    };
    MadeRun run = healthy();
    run.summary.complete = false;
    expectLack(run, "not finalised");
    run = healthy();
    run.summary.run.status = RunStatus::kFailed;
    expectLack(run, "the run failed");
    run = healthy();
    run.summary.diagnostics.push_back({Severity::kNote, kPartOfRecording, "", "", {}, {}, 1});
    expectLack(run, "a part of a recording");
    run = healthy();
    run.summary.ranks.resize(2);
    run.summary.ranks[1].rank = {1};
    run.summary.ranks[1].dropped = 3;
    expectLack(run, "the recording is incomplete");
    run = healthy();
    run.summary.steps.clear();
    expectLack(run, "no steps");
    run = healthy();
    for (RankEvents& events : run.ranks) events.phases.clear();
    expectLack(run, "neither phases nor kernels");
    run = healthy();
    for (RankEvents& events : run.ranks)
        for (SpanEvent& phase : events.phases) phase.phase = Phase::kOther;
    expectLack(run, "no work of any rank lies within its steps");
    run = healthy();
    run.summary.steps.eraseIf([](const StepFacts& step) { return step.step.value >= 7; });
    expectLack(run, "there are 5 steady steps, and 6 are needed");
    run = healthy();
    run.ranks.pop_back();
    expectLack(run, "1 of 2 ranks are recorded");
    run = healthy();
    for (RankEvents& events : run.ranks)
        for (CollectiveEvent& event : events.collectives) event.arrivals = {};
    expectLack(run, "when ranks arrived");
    const Judged empty = analyse({}, {}).judged;
    EXPECT_FALSE(empty.enough);
}

}  // namespace
}  // namespace shardscope::analysis
