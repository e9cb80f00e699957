// Programs on CPUs that the host bounds, and what a report says where it is not known.
#include "engine/run/config/program_run.h"
#include "profiler/analysis/rules/rule.h"
#include "profiler/analysis/rules/run_findings.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"
#include "tests/profiler/analysis/made_run.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

namespace shardscope::analysis {
namespace {

using test::Lateness;
using test::MadeRun;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

MadeRun program(CaptureLevel level = CaptureLevel::kFull) {
    MadeRun run([](int step) { return Lateness{static_cast<std::uint32_t>(step % 2), 1'000}; });
    run.summary.complete = true;
    run.summary.run.configJson = run::toJson(run::ProgramRun{{"python", "x.py"}, "/", level});
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
        RankFacts facts;
        facts.rank = {rank};
        run.summary.ranks.push_back(facts);
    }
    return run;
}

/// Ten steps of two ranks, `share` of every n-th outside of operators of 5 us.
std::vector<OperatorTime> times(double share, int everyNth = 1, bool inLongGaps = false) {
    std::vector<OperatorTime> times;
    for (std::uint32_t rank = 0; rank < 2; ++rank)
        for (int step = 5; step < 15; ++step) {
            OperatorTime time;
            time.rank = {rank};
            time.step = {step};
            time.wall = {1'000'000};
            time.operators = 100;
            time.inOperators = {500'000};
            if (step % everyNth == 0) time.outside = {static_cast<std::int64_t>(share * 1e6)};
            if (inLongGaps) time.inLongGaps = time.outside;
            times.push_back(time);
        }
    return times;
}

struct Asked {
    MaybeFinding found;
    std::string why;
    std::vector<std::string> unknown;
};

Asked ask(const MadeRun& run, std::vector<OperatorTime> times) {
    const Report report = analyse(run.summary, run.ranks);
    GatheredCollectives collectives;
    collectives.blocked.resize(run.ranks.size());
    const std::vector<RankGrowth> growths;
    const Surroundings around;
    RuleInput input = ruleInput(run.summary, run.ranks, collectives, report, growths, around);
    input.operators = std::move(times);
    return {findOutsideOperators(input), whyNoOperatorTime(input),
            runFindings(input).judged.unknown};
}

double evidence(const RunFinding& finding, const std::string& name) {
    for (const auto& each : finding.evidence)
        if (each.name == name) return each.value;
    ADD_FAILURE() << name;
    return 0;
}

TEST(OutsideOperators, WarnOfAProgramThatTheHostBounds) {
    const auto found = ask(program(), times(0.45)).found;
    ASSERT_TRUE(found);
    EXPECT_EQ(found->code, "host-bound");
    EXPECT_EQ(found->severity, Severity::kWarning);
    EXPECT_THAT(found->title, HasSubstr("45 % of the steps"));
    EXPECT_THAT(found->detail, HasSubstr("In 10 of 10 analysed steps"));
    EXPECT_THAT(found->detail, HasSubstr("100000 operators per second and rank, 5.0 µs each"));
    EXPECT_THAT(found->remedy, HasSubstr("torch.compile"));
    EXPECT_EQ(found->steps, std::pair(StepIndex{5}, StepIndex{14}));
    EXPECT_EQ(evidence(*found, "outside_per_step_ns"), 450'000);
    EXPECT_EQ(evidence(*found, "operators_per_step"), 100);
    EXPECT_EQ(evidence(*found, "operators_per_s"), 100'000);
    EXPECT_EQ(evidence(*found, "mean_operator_ns"), 5'000);
    // Of all compared steps, 18 of two ranks, of which ten were looked at.
    EXPECT_EQ(found->cost, Duration{static_cast<std::int64_t>(0.45 * 18 * 2 * 1'001'000)});
}

TEST(OutsideOperators, FindNothingWhereOperatorsFillTheStepsOrOneStepIsUnlikeOthers) {
    EXPECT_FALSE(ask(program(), times(0.29)).found) << "some time always passes between operators";
    EXPECT_FALSE(ask(program(), times(0.9, 2)).found);
    EXPECT_FALSE(ask(program(), {}).found);
}

TEST(OutsideOperators, SendToTheTimelineForLongGaps) {
    const auto found = ask(program(), times(0.45, 1, true)).found;
    ASSERT_TRUE(found);
    EXPECT_THAT(found->remedy, HasSubstr("pieces of 1.00 ms or more"));
    EXPECT_THAT(found->remedy, Not(HasSubstr("torch.compile")));
}

TEST(OutsideOperators, AreUnknownBelowFullAndSayHowToGetThem) {
    const Asked light = ask(program(CaptureLevel::kLight), {});
    EXPECT_THAT(light.unknown,
                Contains("time outside of operators: no operators of steady steps are recorded "
                         "(record it with --capture full)"));
    EXPECT_THAT(ask(program(), times(0.1)).unknown,
                Not(Contains(HasSubstr("outside of operators"))));
}

TEST(OutsideOperators, AreUnknownWhereEventsWereDroppedOrADeviceComputes) {
    MadeRun run = program();
    run.summary.ranks[1].dropped = 3;
    run.summary.ranks[1].emitted = 9;
    EXPECT_EQ(ask(run, times(0.45)).why, "events were dropped");
    EXPECT_FALSE(ask(run, times(0.45)).found);
    run = program();
    FactRow device;
    device.name = "device";
    device.value = "cuda";
    run.summary.facts.push_back(device);
    EXPECT_FALSE(ask(run, times(0.45)).found);
    EXPECT_THAT(ask(run, times(0.45)).unknown, Contains(HasSubstr("not on the CPU")));
    run = program();
    run.summary.run.configJson = "";
    EXPECT_EQ(ask(run, {}).why, "") << "of a run of ours it is not asked";
}

}  // namespace
}  // namespace shardscope::analysis
