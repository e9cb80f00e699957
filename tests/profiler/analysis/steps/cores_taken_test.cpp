#include "profiler/analysis/steps/cores_taken.h"

#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardscope::analysis {
namespace {

constexpr std::int32_t kSteps = 12;

std::int64_t milliseconds(std::int64_t count) {
    return count * 1'000'000;
}

/// Steps of 100 ms, of which each rank waits 20 ms for the slowest and 5 ms for a core.
class CoresTakenTest : public testing::Test {
protected:
    CoresTakenTest() {
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            m_summary.ranks.emplace_back().rank = {rank};
            for (std::int32_t step = 0; step < kSteps; ++step) add({rank}, {step});
        }
        for (const LedgerRow& row : m_ledger) m_rows[row.step].push_back(&row);
    }

    void add(RankId rank, StepIndex step) {
        LedgerRow& row = m_ledger.emplace_back();
        row.rank = rank;
        row.step = step;
        row.wall = {milliseconds(100)};
        row.parts[at(LedgerPart::kCompute)] = {milliseconds(80)};
        row.parts[at(LedgerPart::kWaiting)] = {milliseconds(20)};
        StepFacts& facts = m_summary.steps.emplace_back();
        facts.rank = rank;
        facts.step = step;
        facts.coreWaitNs = milliseconds(5);
        facts.stolenNs = 0;
    }

    static std::size_t placeOf(std::size_t rank, std::size_t step) {
        return rank * std::size_t{kSteps} + step;
    }
    StepFacts& facts(std::size_t rank, std::size_t step) {
        return m_summary.steps.own()[placeOf(rank, step)];
    }
    void prolong(std::size_t rank, std::size_t step, LedgerPart part, std::int64_t count) {
        LedgerRow& row = m_ledger[placeOf(rank, step)];
        row.wall += Duration{milliseconds(count)};
        row.parts[at(part)] += Duration{milliseconds(count)};
    }
    /// Rank 0 is at work for longer, and rank 1 waits for it.
    void slow(std::size_t step, std::int64_t count) {
        prolong(0, step, LedgerPart::kCompute, count);
        prolong(1, step, LedgerPart::kWaiting, count);
    }
    [[nodiscard]] CoresTaken taken(const std::set<StepIndex>& steps) const {
        return sumOf(coresTaken(m_summary, m_rows, steps));
    }

    RecordingSummary m_summary;
    std::vector<LedgerRow> m_ledger;
    std::map<StepIndex, std::vector<const LedgerRow*>> m_rows;
};

TEST_F(CoresTakenTest, IsWhatARankWaitedForACoreOfWhatItTookLonger) {
    slow(4, 60);
    facts(0, 4).coreWaitNs += milliseconds(45);
    const CoresTaken found = taken({StepIndex{4}});
    EXPECT_DOUBLE_EQ(found.ownNs, 60e6) << "that the other one waits is no second excess";
    EXPECT_DOUBLE_EQ(found.wholeNs, 60e6);
    EXPECT_DOUBLE_EQ(found.takenNs, 45e6);
    EXPECT_DOUBLE_EQ(found.share(), 0.75);
    EXPECT_TRUE(found.isMost());
}

TEST_F(CoresTakenTest, IsNothingOfAStoppedRankOrASlowCore) {
    slow(4, 60);
    EXPECT_DOUBLE_EQ(taken({StepIndex{4}}).share(), 0) << "it waits as long as ever";
    slow(5, 60);
    EXPECT_DOUBLE_EQ(taken({StepIndex{4}, StepIndex{5}}).share(), 0);
}

TEST_F(CoresTakenTest, AddsUpOverSteps) {
    for (const std::size_t step : {3u, 4u, 5u}) slow(step, 50);
    facts(0, 3).coreWaitNs += milliseconds(50);
    facts(0, 4).coreWaitNs += milliseconds(25);
    const auto each = coresTaken(m_summary, m_rows, {StepIndex{3}, StepIndex{4}, StepIndex{5}});
    EXPECT_DOUBLE_EQ(each.at({3}).share(), 1);
    EXPECT_DOUBLE_EQ(each.at({4}).share(), 0.5);
    EXPECT_DOUBLE_EQ(each.at({5}).share(), 0);
    EXPECT_DOUBLE_EQ(sumOf(each).share(), 0.5);
}

TEST_F(CoresTakenTest, TakesStolenTimeOfAHostOnce) {
    slow(4, 60);
    // Both ranks have read it, of all cores of their host; one of them earlier.
    facts(0, 4).stolenNs = milliseconds(30);
    facts(1, 4).stolenNs = milliseconds(40);
    EXPECT_DOUBLE_EQ(taken({StepIndex{4}}).takenNs, 40e6);
    m_summary.ranks[1].host = 1;
    EXPECT_DOUBLE_EQ(taken({StepIndex{4}}).takenNs, 70e6);
}

TEST_F(CoresTakenTest, LeavesOutWhatIsAlwaysStolen) {
    slow(4, 60);
    // By ticks: in every other step.
    for (std::size_t rank = 0; rank < 2; ++rank)
        for (std::size_t step = 0; step < kSteps; step += 2)
            facts(rank, step).stolenNs = milliseconds(11);
    EXPECT_NEAR(taken({StepIndex{4}}).takenNs, 11e6 - 5 * 11e6 / 11, 1);
}

/// Where all ranks wait for each other, a little waiting for cores explains nothing.
TEST_F(CoresTakenTest, IsMeasuredByTheWholeStepAsWell) {
    prolong(0, 4, LedgerPart::kWaiting, 60);
    prolong(1, 4, LedgerPart::kWaiting, 60);
    facts(0, 4).coreWaitNs += milliseconds(6);
    const CoresTaken found = taken({StepIndex{4}});
    EXPECT_DOUBLE_EQ(found.ownNs, 0);
    EXPECT_DOUBLE_EQ(found.share(), 0.1);
}

TEST_F(CoresTakenTest, IsNothingWhereItIsNotKnown) {
    slow(4, 60);
    for (StepFacts& step : m_summary.steps.own()) step.coreWaitNs = step.stolenNs = -1;
    EXPECT_DOUBLE_EQ(taken({StepIndex{4}}).takenNs, 0);
    EXPECT_DOUBLE_EQ(taken({StepIndex{4}}).share(), 0);
}

TEST_F(CoresTakenTest, IsNothingOfStepsThatTakeNoLonger) {
    facts(0, 4).coreWaitNs += milliseconds(40);
    EXPECT_DOUBLE_EQ(taken({StepIndex{4}}).share(), 0);
    EXPECT_DOUBLE_EQ(taken({}).share(), 0);
    EXPECT_TRUE(coresTaken(m_summary, {}, {StepIndex{4}}).empty());
    std::set<StepIndex> all;
    for (std::int32_t step = 0; step < kSteps; ++step) all.insert({step});
    EXPECT_DOUBLE_EQ(taken(all).share(), 0) << "nothing to compare with";
}

/// Steps 2 to 5 of both ranks, 100 ms each, one after the other, on a host of four cores.
TEST_F(CoresTakenTest, OfARunAreSharesOfItsTimeAndCores) {
    m_summary.hosts.push_back({0, "node", "", 2, {}, "", 0, 0});
    m_summary.facts.push_back({toWord(Fact::kOnlineCores), 0, -1, "4"});
    std::set<StepIndex> some;
    for (std::int32_t step = 2; step < 6; ++step) some.insert({step});
    for (StepFacts& step : m_summary.steps.own()) {
        step.start = {milliseconds(100) * step.step.value};
        step.end = step.start + Duration{milliseconds(100)};
        step.cpuTimeNs = milliseconds(70);
        // Each rank reads what all programs used of the host, one a little later.
        step.busyNs = milliseconds(step.rank.value == 0 ? 240 : 239);
        step.stolenNs = milliseconds(20);
        step.coreWaitNs = milliseconds(step.rank.value == 0 ? 10 : 30);
    }
    const CoreUse use = coreUse(m_summary, some);
    ASSERT_TRUE(use.known());
    EXPECT_EQ(use.wall.ns, milliseconds(2 * 4 * 100));
    EXPECT_DOUBLE_EQ(use.waiting(), 0.2);
    EXPECT_DOUBLE_EQ(*use.stolen, 0.05);
    EXPECT_DOUBLE_EQ(*use.own, 2 * 70.0 / 400);
    EXPECT_NEAR(*use.others, (240 - 140) / 400.0, 1e-12);
    EXPECT_DOUBLE_EQ(use.taken(), 0.25);
    EXPECT_THAT(coresText(use), testing::HasSubstr("20.0 % of step time; 5.0 % of the cores"));
    // Ranks read the same cores, in steps of their own.
    RecordingSummary apart = m_summary;
    for (StepFacts& step : apart.steps.own()) {
        const bool reads = step.step.value % 2 == static_cast<std::int32_t>(step.rank.value % 2);
        step.busyNs = reads ? 2 * step.busyNs : 0;
        step.stolenNs = reads ? 2 * step.stolenNs : 0;
    }
    EXPECT_NEAR(*coreUse(apart, some).others, *use.others, 1e-12);
    EXPECT_NEAR(*coreUse(apart, some).stolen, *use.stolen, 1e-12);
    for (StepFacts& step : m_summary.steps.own()) step.busyNs = -1;
    EXPECT_FALSE(coreUse(m_summary, some).others) << "files before 2.3";
    for (StepFacts& step : m_summary.steps.own()) step.coreWaitNs = step.stolenNs = -1;
    EXPECT_FALSE(coreUse(m_summary, some).known());
    EXPECT_DOUBLE_EQ(coreUse(m_summary, some).taken(), 0);
}

}  // namespace
}  // namespace shardscope::analysis
