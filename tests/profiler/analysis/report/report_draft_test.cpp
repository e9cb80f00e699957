// What a report takes of one rank at a time is what it takes of all of them together.
#include "profiler/analysis/report/report_draft.h"

#include "profiler/analysis/communication/exposure.h"
#include "profiler/analysis/steps/slow_steps.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/support/random_events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

namespace shardscope::analysis {
namespace {

TEST(LookedAt, AreEvenlySpreadAndNoMoreThanThereMayBe) {
    for (std::size_t ranks = 1; ranks <= 200; ++ranks) {
        std::set<std::size_t> expected, looked;
        const std::size_t count = std::min(ranks, kMostRanksLookedAt);
        for (std::size_t i = 0; i < count; ++i) expected.insert(i * ranks / count);
        for (std::size_t place = 0; place < ranks; ++place)
            if (isLookedAt(place, ranks)) looked.insert(place);
        EXPECT_EQ(looked, expected) << ranks;
    }
    EXPECT_FALSE(isLookedAt(0, 0));
}

/// Ranks with phases of all kinds and collectives of several groups, some of which not all have.
std::vector<RankEvents> draw(test::RandomEvents& random, std::uint32_t ranks) {
    std::vector<RankEvents> drawn(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        RankEvents& events = drawn[rank];
        events.rank = {rank};
        events.peakMemory = {random.between(0, 1000)};
        events.hasMemoryEvents = random.between(0, 1) == 1;
        for (int i = 0; i < 30; ++i) {
            SpanEvent phase;
            phase.start = {100 * i};
            phase.duration = {random.between(1, 99)};
            phase.phase = static_cast<Phase>(random.between(0, 16));
            phase.step = {static_cast<std::int32_t>(random.between(-1, 6))};
            events.phases.push_back(phase);
        }
    }
    for (std::uint64_t sequence = 1; sequence <= 40; ++sequence) {
        CollectiveEvent event;
        event.operation = static_cast<CollectiveOp>(random.between(1, 8));
        event.group = static_cast<std::uint32_t>(random.between(0, 2));
        event.sequence = sequence;
        event.step = {static_cast<std::int32_t>(random.between(-1, 6))};
        event.size = {random.between(0, 3) == 0 ? -1 : 1 << random.between(4, 9)};
        const bool known = random.between(0, 3) != 0;
        std::vector<Timestamp> arrivals;
        for (std::uint32_t rank = 0; rank < ranks; ++rank)
            arrivals.push_back({random.between(0, 3000)});
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            if (event.group != 0 && rank % event.group != 0) continue;
            if (random.between(0, 9) == 0) continue;
            event.start = arrivals[rank];
            event.end = {random.between(3000, 4000)};
            event.arrivals = known ? Arrivals(arrivals) : Arrivals();
            drawn[rank].collectives.push_back(event);
        }
    }
    return drawn;
}

std::vector<RankEvents> outlinesOf(const std::vector<RankEvents>& ranks) {
    std::vector<RankEvents> outlines;
    for (const RankEvents& events : ranks) outlines.push_back(outlineOf(events));
    return outlines;
}

TEST(Outlines, TellWhatWholeRanksTell) {
    test::RandomEvents random(5);
    for (int round = 0; round < 200; ++round) {
        const auto ranks = draw(random, 4), outlines = outlinesOf(ranks);
        for (std::uint32_t group = 0; group < 4; ++group)
            EXPECT_EQ(groupMembers(outlines, group), groupMembers(ranks, group));
        RecordingSummary summary;
        for (const RankEvents& events : ranks)
            for (const SpanEvent& phase : events.phases) {
                StepFacts& step = summary.steps.emplace_back();
                step.rank = events.rank;
                step.step = phase.step;
                step.end = {std::int64_t{1} << 40};
            }
        EXPECT_EQ(stepsSetAside(summary, outlines), stepsSetAside(summary, ranks));
        for (std::size_t place = 0; place < ranks.size(); ++place) {
            EXPECT_EQ(outlines[place].peakMemory, ranks[place].peakMemory);
            EXPECT_EQ(outlines[place].hasMemoryEvents, ranks[place].hasMemoryEvents);
            EXPECT_LE(outlines[place].collectives.size(), 3U);
        }
    }
}

/// Two hosts with two ranks each, whose clocks are in doubt by more than collectives leave.
TEST(HostPassages, ProveOfClocksWhatAllRanksProve) {
    test::RandomEvents random(8);
    RecordingSummary summary;
    for (std::int32_t host = 0; host < 2; ++host)
        summary.hosts.push_back({host, "node", "", 1, {}, "", 0, 400 * host});
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        summary.ranks.emplace_back();
        summary.ranks.back().rank = {rank};
        summary.ranks.back().host = static_cast<std::int32_t>(rank / 2);
    }
    int proven = 0;
    for (int round = 0; round < 200; ++round) {
        const auto ranks = draw(random, 4);
        const HostClocks all(summary, ranks);
        HostPassages passages(summary);
        EXPECT_TRUE(passages.several());
        for (const RankEvents& events : ranks) passages.add(events);
        const HostClocks found = passages.clocks(summary);
        const auto expected = all.provenBetween(0, 1, {2000}),
                   bounds = found.provenBetween(0, 1, {2000});
        ASSERT_EQ(bounds.has_value(), expected.has_value());
        if (!expected) continue;
        ++proven;
        EXPECT_EQ(bounds->leastNs, expected->leastNs);
        EXPECT_EQ(bounds->mostNs, expected->mostNs);
        EXPECT_EQ(found.contradictions(), all.contradictions());
        EXPECT_EQ(found.doubt({0}, {3}, {2000}), all.doubt({0}, {3}, {2000}));
    }
    EXPECT_GT(proven, 100);
}

/// Who waited for whom, counted collective by collective.
TEST(WaitTally, CountsEachCollectiveOnceForEachWhoWasLate) {
    test::RandomEvents random(6);
    std::size_t named = 0;
    for (int round = 0; round < 200; ++round) {
        const auto ranks = draw(random, 4);
        LastArrivals last(ranks, {});
        std::map<RankId, Duration> waited;
        std::map<RankId, std::set<std::pair<std::uint32_t, std::uint64_t>>> collectives;
        for (const RankEvents& events : ranks)
            for (const CollectiveEvent& event : events.collectives) {
                const auto late = event.step == kNoStep ? LastArrival() : last.of(event);
                if (!late.rank) continue;
                waited[*late.rank] += event.lastArrival() - event.start;
                collectives[*late.rank].insert({event.group, event.sequence});
            }
        WaitTally tally;
        for (const RankEvents& events : ranks) tally.add(waitsOf(events.collectives, last));
        const LateRanks found = tally.lateRanks();
        ASSERT_EQ(found.named.size(), waited.size());
        for (const WaitingForRank& each : found.named) {
            EXPECT_EQ(each.waited, waited[each.late]);
            EXPECT_EQ(each.collectives, static_cast<std::int64_t>(collectives[each.late].size()));
        }
        named += found.named.size();
    }
    EXPECT_GT(named, 200U);
}

/// Sums in any order of the ranks.
TEST(HideableTimes, AddUpStepByStep) {
    test::RandomEvents random(7);
    for (int round = 0; round < 200; ++round) {
        std::map<StepIndex, std::array<std::int64_t, 4>> expected;
        HideableTime sum;
        const std::pair key{CollectiveOp::kAllGather, LayerIndex{3}};
        for (int rank = 0; rank < 4; ++rank) {
            HideableTime own;
            for (std::int32_t step = 0; step < 8; ++step) {
                if (random.between(0, 1) == 0) continue;
                const HideableTime::OfStep each{{step},
                                                {random.between(0, 9)},
                                                {random.between(0, 9)},
                                                {random.between(0, 9)},
                                                random.between(0, 9)};
                own.byStep[key].push_back(each);
                auto& of = expected[each.step];
                of = {of[0] + each.moving.ns, of[1] + each.hidden.ns, of[2] + each.late.ns,
                      of[3] + each.count};
            }
            sum.add(own);
        }
        std::map<StepIndex, std::array<std::int64_t, 4>> found;
        for (const HideableTime::OfStep& each : sum.byStep[key])
            EXPECT_TRUE(found
                            .emplace(each.step, std::array{each.moving.ns, each.hidden.ns,
                                                           each.late.ns, each.count})
                            .second);
        EXPECT_EQ(found, expected);
        EXPECT_TRUE(std::is_sorted(sum.byStep[key].begin(), sum.byStep[key].end(),
                                   [](const auto& a, const auto& b) { return a.step < b.step; }));
    }
}

}  // namespace
}  // namespace shardscope::analysis
