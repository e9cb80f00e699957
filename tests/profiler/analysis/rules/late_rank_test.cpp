// The rank that the others wait for is named with the reason that was put there, and none is where
// nobody is to blame.
#include "profiler/analysis/rules/late_rank.h"

#include "profiler/analysis/findings.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/profiler/analysis/made_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace shardscope::analysis {
namespace {

using test::Lateness;
using test::MadeRun;
using testing::HasSubstr;

struct JudgedSteps {
    std::vector<LateRank> held;
    LateCause cause;
};

JudgedSteps judge(const MadeRun& run, const Surroundings& around = {}) {
    std::vector<LedgerRow> ledger;
    for (const RankEvents& rank : run.ranks)
        for (const LedgerRow& row : rankLedger(run.summary, rank)) ledger.push_back(row);
    std::set<StepIndex> steps;
    for (const auto& [step, whole] : steadySteps(run.summary, run.ranks).steps) steps.insert(step);
    JudgedSteps judged{heldUpBy(run.ranks, ledger, steps, {}), {}};
    if (!judged.held.empty())
        judged.cause = whyLate(judged.held.front(), run.summary, ledger, steps, around);
    return judged;
}

MadeRun alwaysLate(Lateness late, std::uint32_t ranks = 4) {
    return MadeRun([late](int) { return late; }, true, ranks);
}

TEST(LateRank, IsNamedWithWhatItCostTheOthers) {
    const JudgedSteps judged = judge(alwaysLate({2, 150'000}));
    ASSERT_EQ(judged.held.size(), 1u);
    const LateRank& late = judged.held.front();
    EXPECT_TRUE(late.isNamed());
    EXPECT_EQ(late.rank, RankId{2});
    EXPECT_EQ(late.blocked.ns, static_cast<std::int64_t>(late.steps) * 3 * 150'000);
    EXPECT_EQ(late.lateness().ns, static_cast<std::int64_t>(late.steps) * 150'000);
    EXPECT_DOUBLE_EQ(late.share(), 150.0 / 1150);
    EXPECT_DOUBLE_EQ(late.explained(), 1);
    EXPECT_DOUBLE_EQ(late.regular(), 1);
    EXPECT_EQ(late.longest.ns, 150'000);
}

TEST(LateRank, HasTheReasonThatWasPutThere) {
    const struct {
        Lateness late;
        LateReason reason;
    } cases[] = {
        {{1, 200'000, Phase::kForward, true}, LateReason::kCompute},
        {{1, 200'000, Phase::kData, true}, LateReason::kInput},
        {{1, 200'000, Phase::kOther, true}, LateReason::kHost},
        {{1, 200'000, Phase::kForward, false}, LateReason::kNotRunning},
    };
    for (const auto& each : cases)
        for (const std::uint32_t ranks : {2u, 4u, 8u}) {
            const JudgedSteps judged = judge(alwaysLate(each.late, ranks));
            ASSERT_FALSE(judged.held.empty());
            EXPECT_STREQ(toWord(judged.cause.reason), toWord(each.reason));
            EXPECT_EQ(judged.cause.excess.ns,
                      static_cast<std::int64_t>(judged.held.front().steps) * 200'000);
        }
}

TEST(LateRank, HadNoCoreWhereItWasReadyToRunForAsLong) {
    MadeRun run = alwaysLate({1, 200'000, Phase::kForward, false});
    for (StepFacts& step : run.summary.steps.own())
        step.coreWaitNs = 10'000 + (step.rank == RankId{1} ? 150'000 : 0);
    const JudgedSteps judged = judge(run);
    EXPECT_STREQ(toWord(judged.cause.reason), toWord(LateReason::kNoCore));
    EXPECT_EQ(judged.cause.excess.ns,
              static_cast<std::int64_t>(judged.held.front().steps) * 150'000);
    // All of them wait as long: that is not what makes it late.
    for (StepFacts& step : run.summary.steps.own()) step.coreWaitNs = 160'000;
    EXPECT_STREQ(toWord(judge(run).cause.reason), toWord(LateReason::kNotRunning));
    // Of some of its steps it is not known.
    for (StepFacts& step : run.summary.steps.own())
        step.coreWaitNs = step.rank == RankId{1} && step.step.value % 2 == 0 ? 400'000 : -1;
    EXPECT_STREQ(toWord(judge(run).cause.reason), toWord(LateReason::kNotRunning));
}

TEST(LateRank, ComputesForLongerAtLowerClocks) {
    const MadeRun run = alwaysLate({3, 200'000});
    const std::map<RankId, double> low{
        {RankId{0}, 1.98e9}, {RankId{1}, 1.98e9}, {RankId{2}, 1.97e9}, {RankId{3}, 1.4e9}};
    EXPECT_EQ(judge(run, {low, {}}).cause.reason, LateReason::kClocks);
    const std::map<RankId, double> equal{{RankId{0}, 1.98e9}, {RankId{3}, 1.98e9}};
    EXPECT_EQ(judge(run, {equal, {}}).cause.reason, LateReason::kCompute);
}

TEST(LateRank, TakesMemoryFromTheDriverForLonger) {
    const MadeRun run = alwaysLate({3, 200'000, Phase::kOther, true});
    const std::int64_t lateness = judge(run).held.front().lateness().ns;
    const auto cause = [&](std::int64_t own, std::int64_t others) {
        Surroundings around;
        for (std::uint32_t rank = 0; rank < 4; ++rank) {
            const std::int64_t all = rank == 3 ? own : others;
            around.driverMemory[{rank}] = {{StepIndex{4}, {all / 2}},
                                           {StepIndex{5}, {all - all / 2}},
                                           {StepIndex{1000}, {lateness}}};
        }
        return judge(run, around).cause;
    };
    EXPECT_EQ(cause(lateness * 7 / 10 + 500, 500).reason, LateReason::kMemory);
    EXPECT_EQ(cause(lateness * 7 / 10 + 500, 500).excess.ns, lateness * 7 / 10);
    EXPECT_EQ(cause(lateness * 4 / 10, 0).reason, LateReason::kHost);
    EXPECT_EQ(cause(lateness, lateness).reason, LateReason::kHost) << "all of them do";
    EXPECT_EQ(judge(run, {{}, {{RankId{3}, {{StepIndex{4}, {lateness}}}}}}).cause.reason,
              LateReason::kHost)
        << "how long the others take is not known";
}

/// A validation pass is no kind of time that is compared; nor is there one without a ledger.
TEST(LateRank, HasNoReasonThatNoKindOfTimeExplains) {
    const MadeRun run = alwaysLate({1, 200'000, Phase::kForward, true});
    const LateRank late = judge(run).held.front();
    EXPECT_EQ(whyLate(late, run.summary, {}, {StepIndex{3}}).reason, LateReason::kUnknown);
    std::vector<LedgerRow> evaluating;
    for (const RankEvents& rank : run.ranks)
        for (LedgerRow row : rankLedger(run.summary, rank)) {
            std::swap(row.parts[at(LedgerPart::kEvaluation)], row.parts[at(LedgerPart::kCompute)]);
            evaluating.push_back(row);
        }
    EXPECT_EQ(whyLate(late, run.summary, evaluating, {StepIndex{3}}).reason, LateReason::kUnknown);
}

TEST(LateRank, IsNobodyWhereTwoTakeTurns) {
    const JudgedSteps judged = judge(MadeRun(
        [](int step) {
            return Lateness{static_cast<std::uint32_t>(step % 2), 200'000, Phase::kForward, true};
        },
        true, 4));
    ASSERT_EQ(judged.held.size(), 2u);
    EXPECT_FALSE(judged.held.front().isNamed());
}

/// One leads in 16 of 18 steps and yet explains less than 80 % of the waits.
TEST(LateRank, IsNobodyWhoExplainsTooLittle) {
    const JudgedSteps judged = judge(MadeRun([](int step) {
        return step % 9 == 4 ? Lateness{0, 2'000'000, Phase::kForward, true}
                             : Lateness{1, 200'000, Phase::kForward, true};
    }));
    for (const LateRank& late : judged.held) EXPECT_FALSE(late.isNamed());
}

/// Stopped in three of five steps for as long as half of one: it leads in too few steps.
TEST(LateRank, IsNamedWhereItIsStoppedNowAndThen) {
    const auto stopped = [](int ofFive) {
        return judge(MadeRun(
            [ofFive](int step) {
                return step % 5 < ofFive ? Lateness{3, 500'000, Phase::kForward, false}
                                         : Lateness{static_cast<std::uint32_t>(step % 4), 5'000};
            },
            true, 4));
    };
    const JudgedSteps often = stopped(3);
    const LateRank& late = often.held.front();
    EXPECT_EQ(late.rank, RankId{3});
    EXPECT_EQ(late.longOnes.byRank, 10u);
    EXPECT_EQ(late.longOnes.byAny, 10u);
    EXPECT_FALSE(late.isRegular());
    EXPECT_LT(late.regular(), kRegularSteps);
    EXPECT_TRUE(late.isNamed());
    EXPECT_EQ(often.cause.reason, LateReason::kNotRunning);
    EXPECT_FALSE(mayBeChance(late, often.cause));
    EXPECT_TRUE(mayBeChance(late, {})) << "for a reason that is unknown";
    EXPECT_TRUE(stopped(2).held.front().isNamed()) << "6 steps, each for very long";
    EXPECT_THAT(lateSentence(stopped(2).held.front()), HasSubstr("6 of 18 steps"));
    EXPECT_FALSE(stopped(1).held.front().isNamed()) << "4 steps say little";
}

TEST(LateRank, MayBeChanceWhereItTookLongerForTheSameWorkForAMoment) {
    LateRank late;
    late.steps = late.stepsLed = 30;
    late.others = 3;
    late.blocked = late.blockedByAnybody = Duration{1};
    ASSERT_TRUE(late.isRegular());
    const auto isChance = [&](std::int64_t seconds, LateReason reason) {
        late.othersWall = Duration{seconds * 1'000'000'000};
        return mayBeChance(late, {reason, {}});
    };
    EXPECT_TRUE(isChance(2, LateReason::kCompute)) << "two thirds of a second each";
    EXPECT_TRUE(isChance(2, LateReason::kUnknown));
    EXPECT_FALSE(isChance(4, LateReason::kCompute));
    EXPECT_FALSE(isChance(4, LateReason::kUnknown));
    EXPECT_FALSE(isChance(2, LateReason::kNotRunning)) << "it was stopped";
    EXPECT_FALSE(isChance(2, LateReason::kInput)) << "its own";
}

TEST(LateRank, SharesAreSharesWhateverTheRun) {
    std::mt19937 random(11);
    for (int round = 0; round < 300; ++round) {
        const auto ranks = static_cast<std::uint32_t>(2 + random() % 5);
        const MadeRun run(
            [&](int) {
                return Lateness{static_cast<std::uint32_t>(random() % ranks),
                                static_cast<std::int64_t>(random() % 400'000),
                                random() % 2 == 0 ? Phase::kForward : Phase::kData,
                                random() % 2 == 0};
            },
            random() % 4 != 0, ranks);
        const JudgedSteps judged = judge(run);
        Duration sum;
        for (const LateRank& late : judged.held) {
            EXPECT_GE(late.share(), 0);
            EXPECT_LE(late.share(), 1);
            EXPECT_LE(late.explained(), 1);
            EXPECT_LE(late.regular(), 1);
            sum += late.blocked;
        }
        for (const LateRank& late : judged.held) EXPECT_EQ(late.blockedByAnybody, sum);
    }
}

}  // namespace
}  // namespace shardscope::analysis
