#include "profiler/analysis/findings.h"
#include "profiler/analysis/report/report.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/support/random_events.h"
#include "tests/support/timeline.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

namespace shardscope::analysis {
namespace {

using test::drawTimeline;
using test::kTick;

Report reportOf(const test::Timeline& timeline) {
    return analyse(timeline.summary, timeline.ranks);
}

std::int64_t ticks(const LedgerRow& row, LedgerPart part) {
    return row.parts[static_cast<std::size_t>(part)].ns / kTick.ns;
}

TEST(Ledger, BooksEveryPhaseUnderItsPart) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |ssssssssssssssssssssssss|
        rank 0 compute |ddffffhhbbbbccoooxee....|
    )"));
    ASSERT_EQ(report.ledger.size(), 1u);
    const LedgerRow& row = report.ledger[0];
    EXPECT_EQ(ticks(row, LedgerPart::kData), 2);
    EXPECT_EQ(ticks(row, LedgerPart::kCompute), 10);
    EXPECT_EQ(ticks(row, LedgerPart::kOptimizer), 5);
    EXPECT_EQ(ticks(row, LedgerPart::kEvaluation), 2);
    EXPECT_EQ(ticks(row, LedgerPart::kOther), 5);
}

TEST(Ledger, SplitsBlockedTimeAtTheLastArrival) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |ssssssssssssssss|
        rank 0 comm    |..---aaa..--rrrc|
        rank 0 compute |fffggggg.bbrrrrw|
    )"));
    const LedgerRow& row = report.ledger.at(0);
    EXPECT_EQ(ticks(row, LedgerPart::kWaiting), 3);  // two of the gather's, one of the reduction's
    EXPECT_EQ(ticks(row, LedgerPart::kExposedGather), 3);
    EXPECT_EQ(ticks(row, LedgerPart::kExposedReduceScatter), 3);
    EXPECT_EQ(ticks(row, LedgerPart::kExposedOther), 1);
    EXPECT_EQ(ticks(row, LedgerPart::kCompute), 5);
    EXPECT_EQ(ticks(row, LedgerPart::kOther), 1);
}

TEST(Ledger, CutsPhasesAtTheStepsEdges) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |..ssss1sss..|
        rank 0 compute |ffffffbbbbbb|
    )"));
    ASSERT_EQ(report.ledger.size(), 2u);
    EXPECT_EQ(ticks(report.ledger[0], LedgerPart::kCompute), 4);
    EXPECT_EQ(ticks(report.ledger[1], LedgerPart::kCompute), 4);
}

TEST(Ledger, LeavesOutStepsWithoutRecordedPhases) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |ssss1sss|
        rank 0 compute |....ffff|
    )"));
    ASSERT_EQ(report.ledger.size(), 1u);
    EXPECT_EQ(report.ledger[0].step, StepIndex{1});
}

/// Phases and collectives at random, overlapping or not, reaching over every edge.
test::Timeline randomTimeline(test::RandomEvents& random) {
    test::Timeline timeline;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
        RankEvents events;
        events.rank = {rank};
        Timestamp at{random.between(0, 50)};
        for (std::int32_t step = 0; step < 8; ++step) {
            StepFacts facts;
            facts.rank = {rank};
            facts.step = {step};
            facts.start = at;
            facts.end = at + Duration{random.between(0, 200)};
            at = facts.end + Duration{random.between(0, 20)};
            timeline.summary.steps.push_back(facts);
        }
        for (Timestamp t{0}; t < at; t = t + Duration{random.between(0, 30)}) {
            SpanEvent phase;
            phase.start = t;
            phase.duration = {random.between(0, 30)};
            phase.phase = static_cast<Phase>(random.between(0, 13));
            events.phases.push_back(phase);
            CollectiveEvent collective;
            collective.start = t + Duration{random.between(-10, 10)};
            collective.end = collective.start + Duration{random.between(0, 40)};
            collective.arrivals = {collective.start,
                                   collective.start + Duration{random.between(0, 60)}};
            events.collectives.push_back(collective);
        }
        timeline.ranks.push_back(events);
        timeline.summary.ranks.emplace_back().rank = {rank};
    }
    timeline.summary.run.worldSize = 3;
    return timeline;
}

TEST(Ledger, PartsAddUpToWallTimeOnEveryRankAndStep) {
    test::RandomEvents random(4);
    for (int round = 0; round < 200; ++round) {
        const auto timeline = randomTimeline(random);
        const Report report = reportOf(timeline);
        EXPECT_GT(report.ledger.size(), 12u);
        for (const LedgerRow& row : report.ledger) {
            Duration sum;
            for (const Duration part : row.parts) {
                EXPECT_GE(part.ns, 0);
                sum += part;
            }
            ASSERT_EQ(sum, row.wall) << "rank " << row.rank.value << " step " << row.step.value;
        }
        for (const Overlap& overlap : report.overlapByRank) {
            EXPECT_EQ(overlap.hidden + overlap.exposed, overlap.communication);
            EXPECT_EQ(overlap.waiting + overlap.moving, overlap.communication);
            EXPECT_GE(overlap.exposed.ns, 0);
            EXPECT_GE(overlap.moving.ns, 0);
        }
        Duration communication, hidden;
        for (const StepOverlap& step : report.overlapByStep) {
            EXPECT_GT(step.communication.ns, 0);
            EXPECT_LE(step.hidden, step.communication);
            communication += step.communication;
            hidden += step.hidden;
        }
        EXPECT_EQ(communication, report.overlap.communication);
        EXPECT_EQ(hidden, report.overlap.hidden);
    }
}

TEST(Ledger, AReductionThatIsWaitedForIsTheOneThatEndsLastWithinTheWait) {
    auto timeline = drawTimeline(R"(
        rank 0 step    |ssssssssssssssssss|
        rank 0 comm    |..rrcc....rr.ccc..|
        rank 0 compute |ffrrrrr...rr.rr.rf|
    )");
    const auto rows = rankLedger(timeline.summary, timeline.ranks[0]);
    ASSERT_EQ(rows.size(), 1u);
    // Both operations end in the first wait, a tick before it does; the reduce-scatter ends in the
    // second, and the third ends before its all-reduce does. In the last nothing goes on.
    EXPECT_EQ(ticks(rows[0], LedgerPart::kExposedAllReduce), 4 + 2);
    EXPECT_EQ(ticks(rows[0], LedgerPart::kExposedReduceScatter), 2 + 1);
    EXPECT_EQ(blockedInReductions(rows[0].parts).ns, 9 * kTick.ns);
}

TEST(Ledger, ScriptsHaveReductionsAsOneFigureToo) {
    const Report report = reportOf(drawTimeline(R"(
        rank 0 step    |ssssssssss|
        rank 0 comm    |.rr.ccc...|
        rank 0 compute |frrfrrrfff|
    )"));
    const auto json = nlohmann::json::parse(toJson(report));
    const auto& row = json.at("ledger").at(0);
    EXPECT_EQ(row.at("reductions").at("blocked_reduce_scatter_ns"), 2 * kTick.ns);
    EXPECT_EQ(row.at("reductions").at("blocked_all_reduce_ns"), 3 * kTick.ns);
    EXPECT_EQ(row.at("parts").at("blocked_reduction_ns"), 5 * kTick.ns);
    std::int64_t sum = 0;
    for (const auto& part : row.at("parts")) sum += part.get<std::int64_t>();
    EXPECT_EQ(sum, row.at("wall_ns"));
    for (const LedgerPart part : kAll<LedgerPart>)
        EXPECT_TRUE(row.at("parts").contains(toKey(part)) ||
                    row.at("reductions").contains(toKey(part)))
            << toKey(part);
}

TEST(Ledger, CheckpointsAreAPartOfTheirOwn) {
    auto timeline = drawTimeline(R"(
        rank 0 step    |ssssss|
        rank 0 compute |fffxx.|
    )");
    timeline.ranks[0].phases[1].phase = Phase::kCheckpoint;
    const auto rows = rankLedger(timeline.summary, timeline.ranks[0]);
    EXPECT_EQ(ticks(rows.at(0), LedgerPart::kCheckpoint), 2);
    EXPECT_EQ(ticks(rows.at(0), LedgerPart::kOther), 1);
}

/// Of those that ended within the phase the last one of its layer, else the last one; of equal ones
/// the later in the list.
const CollectiveEvent* endedIn(const SpanEvent& phase, const RankEvents& events) {
    const CollectiveEvent *last = nullptr, *own = nullptr;
    for (const CollectiveEvent& each : events.collectives) {
        const bool gather = each.operation == CollectiveOp::kAllGather;
        const bool reduces = each.operation == CollectiveOp::kReduceScatter ||
                             each.operation == CollectiveOp::kAllReduce;
        if (phase.phase == Phase::kWaitGather && !gather) continue;
        if (phase.phase == Phase::kWaitReduction && !reduces) continue;
        if (each.end <= phase.start || each.end > phase.end()) continue;
        if (last == nullptr || each.end >= last->end) last = &each;
        if (each.layer == phase.layer && (own == nullptr || each.end >= own->end)) own = &each;
    }
    return own != nullptr ? own : last;
}

/// Of an instant within the phase, said again from the definitions alone.
LedgerPart partOf(const SpanEvent& phase, const RankEvents& events, Timestamp time) {
    const auto& all = events.collectives;
    const auto waits = [&](const CollectiveEvent& each) {
        return each.start <= time && time < each.lastArrival();
    };
    const CollectiveEvent* ended = isWait(phase.phase) ? endedIn(phase, events) : nullptr;
    if (ended != nullptr && ended->end <= time) return LedgerPart::kOther;
    if (isWait(phase.phase) && std::any_of(all.begin(), all.end(), waits))
        return LedgerPart::kWaiting;
    if (phase.phase == Phase::kWaitReduction) {
        const CollectiveEvent* next = nullptr;
        for (const CollectiveEvent& each : all) {
            if (each.operation != CollectiveOp::kReduceScatter &&
                each.operation != CollectiveOp::kAllReduce)
                continue;
            if (each.end > phase.end() && (next == nullptr || each.end < next->end)) next = &each;
        }
        if (ended == nullptr && next != nullptr && next->start < phase.end()) ended = next;
        return ended != nullptr && ended->operation == CollectiveOp::kAllReduce
                   ? LedgerPart::kExposedAllReduce
                   : LedgerPart::kExposedReduceScatter;
    }
    if (isWork(phase.phase))
        return phase.phase == Phase::kClip || phase.phase == Phase::kOptimizer
                   ? LedgerPart::kOptimizer
                   : LedgerPart::kCompute;
    if (phase.phase == Phase::kWaitGather) return LedgerPart::kExposedGather;
    if (phase.phase == Phase::kWaitOther) return LedgerPart::kExposedOther;
    if (phase.phase == Phase::kData) return LedgerPart::kData;
    if (phase.phase == Phase::kEvaluation) return LedgerPart::kEvaluation;
    return phase.phase == Phase::kCheckpoint ? LedgerPart::kCheckpoint : LedgerPart::kOther;
}

TEST(Ledger, EqualsBruteForceOfEachNanosecond) {
    test::RandomEvents random(18);
    for (int round = 0; round < 10'000; ++round) {
        RecordingSummary summary;
        RankEvents events;
        // Disjoint, as phases are by contract; some without length.
        for (Timestamp time{random.between(0, 9)}; time.ns < 60;) {
            SpanEvent& phase = events.phases.emplace_back();
            phase.start = time;
            phase.duration = {random.between(0, 12)};
            phase.phase = static_cast<Phase>(random.between(0, 16));
            phase.layer = {static_cast<std::int16_t>(random.between(0, 2))};
            time = phase.end() + Duration{random.between(1, 4)};
        }
        for (std::int64_t n = random.between(0, 5); n > 0; --n) {
            CollectiveEvent& each = events.collectives.emplace_back();
            each.operation = static_cast<CollectiveOp>(random.between(1, 4));
            each.layer = {static_cast<std::int16_t>(random.between(0, 1))};
            each.start = {random.between(0, 60)};
            each.end = each.start + Duration{random.between(0, 20)};
            each.arrivals = {each.start, each.start + Duration{random.between(-5, 15)}};
        }
        Timestamp begin{random.between(0, 20)};
        for (std::int32_t index = 0; index < 3; ++index) {
            StepFacts& step = summary.steps.emplace_back();
            step.step = {index};
            step.start = begin;
            step.end = begin = begin + Duration{random.between(0, 25)};
        }
        for (const LedgerRow& row : rankLedger(summary, events)) {
            const StepFacts& step = summary.steps.at(static_cast<std::size_t>(row.step.value));
            LedgerParts expected{};
            for (Timestamp time = step.start; time < step.end; time = time + Duration{1}) {
                const auto phase = std::find_if(
                    events.phases.begin(), events.phases.end(),
                    [time](const SpanEvent& each) { return each.range().contains(time); });
                const LedgerPart part = phase == events.phases.end() ? LedgerPart::kOther
                                                                     : partOf(*phase, events, time);
                ++expected[at(part)].ns;
            }
            for (const LedgerPart part : kAll<LedgerPart>)
                ASSERT_EQ(row.parts[at(part)], expected[at(part)])
                    << toWord(part) << ", round " << round << ", step " << row.step.value;
        }
    }
}

/// 30 ticks: 4 of data, 16 of compute, 6 blocked in a gather of which 2 after its end, 4 other.
test::Timeline withGather() {
    return drawTimeline(R"(
        rank 0 step    |ssssssssssssssssssssssssssssss|
        rank 0 comm    |....................aaaa......|
        rank 0 compute |ddddffffffffffffffffgggggg....|
    )");
}

TEST(Ledger, TakesWhatWasWithoutACoreOutOfItsParts) {
    test::Timeline timeline = withGather();
    StepFacts& step = timeline.summary.steps.own().front();
    const auto rowWith = [&](std::int64_t waited) {
        step.coreWaitNs = waited * kTick.ns;
        return rankLedger(timeline.summary, timeline.ranks[0]).at(0);
    };
    const LedgerRow none = rowWith(0);
    EXPECT_EQ(ticks(none, LedgerPart::kOther), 2 + 4) << "it is woken late";
    EXPECT_EQ(ticks(none, LedgerPart::kExposedGather), 4);
    const LedgerRow late = rowWith(2);
    EXPECT_EQ(ticks(late, LedgerPart::kNoCore), 2);
    EXPECT_EQ(ticks(late, LedgerPart::kOther), 4) << "that comes first";
    EXPECT_EQ(ticks(late, LedgerPart::kCompute), 16);
    // Half of what runs: 4 of data, 16 of compute, 4 other.
    const LedgerRow half = rowWith(2 + 12);
    EXPECT_EQ(ticks(half, LedgerPart::kNoCore), 14);
    EXPECT_EQ(ticks(half, LedgerPart::kCompute), 8);
    EXPECT_EQ(ticks(half, LedgerPart::kData), 2);
    EXPECT_EQ(ticks(half, LedgerPart::kOther), 2);
    EXPECT_EQ(ticks(half, LedgerPart::kExposedGather), 4);
    const LedgerRow most = rowWith(28);
    EXPECT_EQ(ticks(most, LedgerPart::kCompute), 0);
    EXPECT_EQ(ticks(most, LedgerPart::kExposedGather), 2);
    EXPECT_EQ(ticks(rowWith(99), LedgerPart::kNoCore), 30) << "never more than the step";
    EXPECT_EQ(ticks(rowWith(-1), LedgerPart::kNoCore), 0) << "not known";
}

TEST(Ledger, SharesStolenTimeOverTheCoresOfTheHost) {
    test::Timeline timeline = withGather();
    timeline.summary.steps.own().front().stolenNs = 8 * kTick.ns;
    timeline.summary.hosts.push_back({0, "node", "", 4, {}, "", 0, 0});
    const LedgerRow row = rankLedger(timeline.summary, timeline.ranks[0]).at(0);
    EXPECT_EQ(ticks(row, LedgerPart::kStolen), 2);
    EXPECT_EQ(takenFrom(row.parts), Duration{2 * kTick.ns});
}

TEST(Ledger, MedianIsTakenPartByPart) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |sss1sssss2sssssss|
        rank 0 compute |fffffffffffffffff|
    )"));
    EXPECT_EQ(medianParts(report.ledger, {0})[0].ns, 6 * kTick.ns);
}

TEST(Ledger, AStepIsSetAgainstTheMedianOfTheOthersOfItsRanks) {
    std::vector<LedgerRow> rows;
    const auto add = [&rows](std::uint32_t rank, std::int32_t step, std::int64_t compute,
                             std::int64_t waiting) {
        LedgerRow& row = rows.emplace_back(LedgerRow{{rank}, {step}, {compute + waiting}, {}});
        row.parts[at(LedgerPart::kCompute)] = {compute};
        row.parts[at(LedgerPart::kWaiting)] = {waiting};
    };
    for (const std::int32_t step : {0, 1, 2, 3, 4}) {
        add(0, step, step == 3 ? 100 : 10 + step, 0);
        add(1, step, 20, step == 3 ? 80 : 2);
    }
    const std::vector<StepIndex> among{{1}, {2}, {3}, {4}};  // 0 is warm-up
    const auto both = againstMedian(rows, {3}, among, {});
    ASSERT_TRUE(both);
    EXPECT_EQ(both->ranks, 2);
    EXPECT_EQ(both->others, 3u);
    EXPECT_EQ(both->parts[at(LedgerPart::kCompute)].ns, (100 + 20) / 2);
    EXPECT_EQ(both->medians[at(LedgerPart::kCompute)].ns, (12 + 20) / 2);
    EXPECT_EQ(both->medians[at(LedgerPart::kWaiting)].ns, (0 + 2) / 2);
    EXPECT_EQ(both->wall.ns, 100);
    EXPECT_EQ(both->medianWall.ns, (12 + 22) / 2);
    const auto one = againstMedian(rows, {3}, among, {RankId{1}});
    ASSERT_TRUE(one);
    EXPECT_EQ(one->parts[at(LedgerPart::kWaiting)].ns, 80);
    EXPECT_FALSE(againstMedian(rows, {9}, among, {})) << "no such step";
    EXPECT_FALSE(againstMedian(rows, {3}, {StepIndex{3}}, {})) << "nothing to compare with";
}

TEST(Ledger, MedianOfAnEvenNumberOfStepsLiesBetweenTheMiddleTwo) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |sss1sssss|
        rank 0 compute |fffffffff|
    )"));
    EXPECT_EQ(medianParts(report.ledger, {0})[at(LedgerPart::kCompute)].ns, 9 * kTick.ns / 2);
    EXPECT_EQ(medianParts(report.ledger, {1})[at(LedgerPart::kCompute)].ns, 0);
    EXPECT_EQ(sumOfParts(report.ledger)[at(LedgerPart::kCompute)], sumOfWalls(report.ledger));
}

TEST(Overlap, OfEachStepCountsWhatLiesWithinIt) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |ssssss1sssss|
        rank 0 comm    |..aaaaaa....|
        rank 0 compute |ffff...bbbbb|
    )"));
    ASSERT_EQ(report.overlapByStep.size(), 2u);
    EXPECT_EQ(report.overlapByStep[0].communication.ns, 4 * kTick.ns);
    EXPECT_EQ(report.overlapByStep[0].hidden.ns, 2 * kTick.ns);
    EXPECT_EQ(report.overlapByStep[1].communication.ns, 2 * kTick.ns);
    EXPECT_EQ(report.overlapByStep[1].hidden.ns, 1 * kTick.ns);
}

TEST(Overlap, CountsOnlyCommunicationHiddenByWork) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |ssssssssssssssssssss|
        rank 0 comm    |..aaaa....rrrrrr....|
        rank 0 compute |ffffgg....bbbbrr.ddd|
    )"));
    EXPECT_EQ(report.overlap.communication.ns / kTick.ns, 10);
    EXPECT_EQ(report.overlap.hidden.ns / kTick.ns, 6);
    EXPECT_DOUBLE_EQ(*report.overlap.ratio(), 0.6);
}

TEST(Overlap, LeavesOutValidationAndTimeBetweenSteps) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |ssssssss....|
        rank 0 comm    |aaaaaaaaaaaa|
        rank 0 compute |ffffeeee....|
    )"));
    EXPECT_EQ(report.overlap.communication.ns / kTick.ns, 4);
    EXPECT_EQ(report.overlap.exposed.ns, 0);
}

TEST(Waiting, NamesTheRankOthersWaitedFor) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |ssssssss|
        rank 0 comm    |---aaa..|
        rank 1 step    |ssssssss|
        rank 1 comm    |.....-rr|
    )"));
    ASSERT_EQ(report.waiting.size(), 2u);
    EXPECT_EQ(report.waiting[0].late, RankId{1});
    EXPECT_EQ(report.waiting[0].waited.ns, 3 * kTick.ns);
    EXPECT_EQ(report.waiting[0].collectives, 1);
    EXPECT_EQ(report.waiting[1].late, RankId{0});
}

}  // namespace
}  // namespace shardscope::analysis
