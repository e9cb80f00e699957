// Findings of runs whose truth is known: what was simulated decides, not the program.
#include "profiler/analysis/rules/run_findings.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/profiler/analysis/rules/simulated_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

namespace shardscope::analysis {
namespace {

using test::Fault;
using test::SimulatedRun;

constexpr std::uint64_t kRuns = 50;

Report reportOf(const SimulatedRun& run) {
    return analyse(run.summary, run.ranks, {}, run.growths);
}

/// Whether one of the findings is right; `others` gets the codes of warnings that are not. That
/// cores were taken is true of the runs in which they were.
template <class IsRight>
bool isFound(const Report& report, const char* code, IsRight isRight, std::string& others) {
    bool found = false;
    for (const RunFinding& finding : report.findings) {
        if (finding.code == code && isRight(finding))
            found = true;
        else if (finding.severity > Severity::kNote && finding.code != "cores-taken")
            others += finding.code + ' ';
    }
    return found;
}

template <class IsRight>
void expectFound(Fault fault, const char* code, IsRight isRight) {
    int found = 0;
    std::string others, missed;
    for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
        const SimulatedRun run(1000 + seed, fault);
        if (isFound(
                reportOf(run), code, [&](const auto& each) { return isRight(each, run); }, others))
            ++found;
        else
            missed += std::to_string(seed) + ' ';
    }
    EXPECT_GE(found, 45) << code << " missed in " << missed << "; others: " << others;
}

void expectFound(Fault fault, const char* code) {
    expectFound(fault, code, [](const RunFinding&, const SimulatedRun&) { return true; });
}

bool isInItsSteps(const RunFinding& finding, const SimulatedRun& run) {
    return finding.steps && finding.steps->first <= run.faultyLast &&
           run.faultyFirst <= finding.steps->second;
}

bool isItsRank(const RunFinding& finding, const SimulatedRun& run) {
    return finding.rank == run.faulty;
}

/// Of all rules together, which is more than of each.
TEST(SimulatedRuns, HealthyOnesHaveNothingAboveANote) {
    int alarmed = 0;
    std::string what;
    for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
        const SimulatedRun run(seed, Fault::kNone);
        const std::string before = what;
        isFound(
            reportOf(run), "none", [](const RunFinding&) { return true; }, what);
        alarmed += what != before;
    }
    EXPECT_LE(alarmed, 1) << what;
}

/// Nothing above a note, and notes of `code` that say whose doing it was.
void expectOthersNamed(Fault fault, const char* code) {
    int alarmed = 0, told = 0;
    std::string what;
    for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
        const Report report = reportOf(SimulatedRun(1000 + seed, fault));
        const std::string before = what;
        told += isFound(
            report, code,
            [](const RunFinding& finding) {
                return finding.severity == Severity::kNote &&
                       finding.detail.find("Why: cores taken") != std::string::npos;
            },
            what);
        alarmed += what != before;
    }
    EXPECT_LE(alarmed, 1) << what;
    EXPECT_GE(told, 45) << code;
}

TEST(SimulatedRuns, HealthyOnesBesideOthersHaveNothingAboveANote) {
    expectOthersNamed(Fault::kBusyStretch, "slow-stretch");
    expectOthersNamed(Fault::kBusyStep, "slow-step");
}

TEST(SimulatedRuns, HealthyOnesAreJudged) {
    const Report report = reportOf(SimulatedRun(1, Fault::kNone));
    EXPECT_TRUE(report.judged.enough);
    ASSERT_EQ(report.judged.unknown.size(), 1u);
    EXPECT_EQ(report.judged.unknown[0], "memory: no memory events are recorded");
}

TEST(SimulatedRuns, ARankThatIsStoppedIsNamed) {
    expectFound(Fault::kStoppedRank, "late-rank", isItsRank);
}

TEST(SimulatedRuns, ASlowRankIsNamed) {
    expectFound(Fault::kSlowRank, "late-rank", isItsRank);
}

TEST(SimulatedRuns, ASlowLinkIsToldFromASlowMachine) {
    expectFound(Fault::kSlowLink, "slow-link", isInItsSteps);
}

TEST(SimulatedRuns, ALateCollectiveIsNamed) {
    expectFound(Fault::kLateCollective, "late-collective",
                [](const RunFinding& finding, const SimulatedRun&) {
                    return finding.title.find("all-gather of layer 1") != std::string::npos;
                });
}

TEST(SimulatedRuns, ThrottledCoresAreToldFromASlowLink) {
    expectFound(Fault::kThrottled, "slow-stretch",
                [](const RunFinding& finding, const SimulatedRun& run) {
                    return isInItsSteps(finding, run) && finding.severity > Severity::kNote &&
                           finding.detail.find("Why: not running") != std::string::npos;
                });
}

TEST(SimulatedRuns, ALinkIsNotSlowWhereOthersTookCores) {
    SimulatedRun run(1000, Fault::kSlowLink);
    const auto slowLink = [&]() -> std::optional<RunFinding> {
        for (const RunFinding& finding : reportOf(run).findings)
            if (finding.code == "slow-link") return finding;
        return std::nullopt;
    };
    const auto found = slowLink();
    ASSERT_TRUE(found);
    for (StepFacts& step : run.summary.steps.own())
        if (found->steps->first <= step.step && step.step <= found->steps->second)
            step.coreWaitNs += step.range().duration().ns;
    EXPECT_FALSE(slowLink());
}

TEST(SimulatedRuns, ASlowStepIsNamed) {
    expectFound(Fault::kSlowStep, "slow-step",
                [](const RunFinding& finding, const SimulatedRun& run) {
                    return finding.steps->first == run.faultyFirst &&
                           finding.detail.find("cores taken") == std::string::npos;
                });
}

TEST(SimulatedRuns, ALeakIsNamed) {
    expectFound(Fault::kLeak, "memory-growth");
}

TEST(SimulatedRuns, TroubleInTrainingIsNamed) {
    expectFound(Fault::kLossSpike, "loss-spike",
                [](const RunFinding& finding, const SimulatedRun& run) {
                    return finding.steps->first.value == run.faultyFirst.value + 6;
                });
    expectFound(Fault::kNotANumber, "not-finite",
                [](const RunFinding& finding, const SimulatedRun& run) {
                    return finding.severity == Severity::kProblem &&
                           finding.steps->first == run.faultyFirst;
                });
}

}  // namespace
}  // namespace shardscope::analysis
