#include "profiler/analysis/device/device_ledger.h"

#include "profiler/analysis/findings.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/support/random_events.h"
#include "tests/support/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace shardscope::analysis {
namespace {

using test::kTick;

/// Parts as letters of a drawing: what is expected of each tick of a step.
const std::map<LedgerPart, char>& letters() {
    static const std::map<LedgerPart, char> all{{LedgerPart::kCompute, 'C'},
                                                {LedgerPart::kOptimizer, 'O'},
                                                {LedgerPart::kEvaluation, 'E'},
                                                {LedgerPart::kWaiting, 'w'},
                                                {LedgerPart::kExposedGather, 'g'},
                                                {LedgerPart::kExposedReduceScatter, 's'},
                                                {LedgerPart::kExposedAllReduce, 'a'},
                                                {LedgerPart::kExposedOther, 'x'},
                                                {LedgerPart::kCopies, 'y'},
                                                {LedgerPart::kLaunchBound, 'l'},
                                                {LedgerPart::kHostBound, 'h'},
                                                {LedgerPart::kData, 'd'},
                                                {LedgerPart::kCheckpoint, 'k'},
                                                {LedgerPart::kProfiler, 'p'},
                                                {LedgerPart::kOther, 'o'}};
    return all;
}

Timestamp tick(std::size_t cell) {
    return {static_cast<std::int64_t>(cell) * kTick.ns};
}

/// Runs of one letter, '.' left out.
std::vector<std::pair<char, TimeRange>> runsOf(const std::string& cells) {
    std::vector<std::pair<char, TimeRange>> runs;
    for (std::size_t at = 0, end = 0; at < cells.size(); at = end) {
        end = std::min(cells.find_first_not_of(cells[at], at), cells.size());
        if (cells[at] != '.') runs.push_back({cells[at], {tick(at), tick(end)}});
    }
    return runs;
}

/// One rank. `work`: C compute, O optimizer, E validation, n collective, y copy; a run is one of
/// them, the n-th of all lines launched at the n-th of `launches`; beyond them not recorded.
struct Drawn {
    test::Timeline timeline = test::drawTimeline("rank 0 step |s|");
    DeviceTimeline device;
    std::vector<int> launches;

    Drawn& with(const std::string& lines) {
        timeline = test::drawTimeline(lines);
        return *this;
    }
    Drawn& work(const std::string& cells) {
        static const std::map<char, DeviceWorkKind> kKinds{{'C', DeviceWorkKind::kCompute},
                                                           {'O', DeviceWorkKind::kOptimizer},
                                                           {'E', DeviceWorkKind::kEvaluation},
                                                           {'n', DeviceWorkKind::kCommunication},
                                                           {'y', DeviceWorkKind::kCopy}};
        for (const auto& [letter, range] : runsOf(cells)) {
            DeviceWork& each = device.work.emplace_back();
            each.range = range;
            each.kind = kKinds.at(letter);
            if (device.work.size() <= launches.size())
                each.launch = tick(static_cast<std::size_t>(launches[device.work.size() - 1]));
        }
        return *this;
    }
    Drawn& host(const std::string& cells) {  // d data, k checkpoint, p profiler
        for (const auto& [letter, range] : runsOf(cells))
            (letter == 'd'   ? device.data
             : letter == 'k' ? device.checkpoint
                             : device.profiler)
                .push_back(range);
        return *this;
    }
    /// The parts of the only step, against letters of each of its ticks.
    void expect(const std::string& cells) const {
        const auto rows = deviceLedger(timeline.summary, timeline.ranks[0], device);
        ASSERT_EQ(rows.size(), 1u);
        for (const auto& [part, letter] : letters())
            EXPECT_EQ(rows[0].parts[at(part)].ns / kTick.ns,
                      std::count(cells.begin(), cells.end(), letter))
                << toWord(part);
        EXPECT_EQ(rows[0].wall.ns, static_cast<std::int64_t>(cells.size()) * kTick.ns);
    }
};

TEST(DeviceLedger, ComputeHidesTheRest) {
    Drawn drawn;
    drawn.launches = {0, 0, 0, 0, 0, 0};
    drawn.with("rank 0 step |ssssssssssss|")
        .work("CC..C.......")
        .work(".OOOO..EEE..")
        .work("...nnnnnn...")
        .work("......yyyyyy")
        .expect("CCOOCxxEEEyy");
}

TEST(DeviceLedger, CollectivesAreTheirOperations) {
    Drawn drawn;
    drawn.launches = {0, 0, 0, 0, 0, 0};
    drawn
        .with(R"(
        rank 0 step |ssssssssssssssssss|
        rank 0 comm |.aaaa..-rr..cc....|)")
        .work("C................C")
        .work(".nnnn..nnn..nn.nn.")
        .expect("CggggllwssllaalxxC");
}

TEST(DeviceLedger, WithoutKernelsOfCollectivesTheirRowsCount) {
    Drawn drawn;
    drawn.launches = {0, 0};
    drawn
        .with(R"(
        rank 0 step |sssssssss|
        rank 0 comm |.--aaa...|)")
        .work("CC.....CC")
        .expect(
            "CCwgggl"
            "CC");
}

TEST(DeviceLedger, IdleIsSplitWhereTheNextLaunchBegan) {
    Drawn drawn;
    drawn.launches = {2, 8, 9};
    drawn.with("rank 0 step |ssssssssssssssss|")
        .work("....CC....CC..CC")
        .expect("hhllCChhllCCllCC");
}

TEST(DeviceLedger, WorkWithoutALaunchLeavesTheGapBeforeItUnknown) {
    Drawn drawn;
    drawn.launches = {0, 6};
    drawn.with("rank 0 step |ssssssssssssssss|")
        .work(".CC....CC..n..y.")
        .expect("lCChhhlCCooxooyo");
}

TEST(DeviceLedger, IdleWithTheHostAtDataCheckpointOrProfilerIsTheirs) {
    Drawn drawn;
    drawn.launches = {0, 10};
    drawn.with("rank 0 step |ssssssssssssss|")
        .work("CC.........CCC")
        .host(".ddd..........")
        .host("...kkk........")
        .host(".....pp.......")
        .expect("CCddkpphhhlCCC");
}

TEST(DeviceLedger, CutsAtTheEdgesOfStepsThatTouch) {
    Drawn drawn;
    drawn.launches = {0, 7};
    drawn.with("rank 0 step |..ssss1sssss..|").work("....CCCC....CC");
    const auto rows = deviceLedger(drawn.timeline.summary, drawn.timeline.ranks[0], drawn.device);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].parts[at(LedgerPart::kLaunchBound)].ns, 2 * kTick.ns);
    EXPECT_EQ(rows[0].parts[at(LedgerPart::kCompute)].ns, 2 * kTick.ns);
    EXPECT_EQ(rows[1].parts[at(LedgerPart::kCompute)].ns, 2 * kTick.ns);
    EXPECT_EQ(rows[1].parts[at(LedgerPart::kLaunchBound)].ns, 4 * kTick.ns)
        << "launched within the step, and begun behind it";
}

TEST(DeviceLedger, LeavesStepsWithoutDeviceWorkToPhases) {
    Drawn drawn;
    drawn.launches = {0};
    drawn
        .with(R"(
        rank 0 step    |ssss1sss|
        rank 0 compute |fffffddd|)")
        .work("CC......");
    const RankEvents& events = drawn.timeline.ranks[0];
    const auto device = deviceLedger(drawn.timeline.summary, events, drawn.device);
    ASSERT_EQ(device.size(), 1u);
    const auto rows = rankLedger(drawn.timeline.summary, events, device);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].parts[at(LedgerPart::kOther)].ns, 2 * kTick.ns);
    EXPECT_EQ(rows[1].parts[at(LedgerPart::kCompute)].ns, 1 * kTick.ns);
    EXPECT_EQ(rows[1].parts[at(LedgerPart::kData)].ns, 3 * kTick.ns);
}

TEST(DeviceLedger, OfNoDeviceWorkThereIsNone) {
    Drawn drawn;
    drawn.with("rank 0 step |ssss|").work("....");
    EXPECT_TRUE(
        deviceLedger(drawn.timeline.summary, drawn.timeline.ranks[0], drawn.device).empty());
    EXPECT_TRUE(deviceLedger({}, {}, {}).empty());
}

TEST(DeviceLedger, CommunicationAndCopiesMakeOneOnlyWhereThereAreNoPhases) {
    Drawn drawn;
    drawn.with("rank 0 step |ssss|").work("nn.y");
    const auto rows = deviceLedger(drawn.timeline.summary, drawn.timeline.ranks[0], drawn.device);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].parts[at(LedgerPart::kExposedOther)].ns, 2 * kTick.ns);
    EXPECT_EQ(rows[0].parts[at(LedgerPart::kCopies)].ns, 1 * kTick.ns);
    Drawn phases;
    phases
        .with(R"(
        rank 0 step    |ssss|
        rank 0 compute |ffff|)")
        .work("nn.y");
    EXPECT_TRUE(
        deviceLedger(phases.timeline.summary, phases.timeline.ranks[0], phases.device).empty());
}

// Brute force ------------------------------------------------------------------------------------

bool covers(const std::vector<TimeRange>& ranges, Timestamp time) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [time](const TimeRange& range) { return range.contains(time); });
}

struct Case {
    RecordingSummary summary;
    RankEvents events;
    DeviceTimeline device;

    [[nodiscard]] bool runs(DeviceWorkKind kind, Timestamp time) const {
        return std::any_of(device.work.begin(), device.work.end(), [&](const DeviceWork& work) {
            return work.kind == kind && work.range.contains(time);
        });
    }
    [[nodiscard]] bool operates(CollectiveOp operation, Timestamp time) const {
        return std::any_of(
            events.collectives.begin(), events.collectives.end(), [&](const auto& each) {
                return each.operation == operation && each.start <= time && time < each.end;
            });
    }
    [[nodiscard]] bool communicates(Timestamp time) const {
        const bool kernels =
            std::any_of(device.work.begin(), device.work.end(), [](const DeviceWork& work) {
                return work.kind == DeviceWorkKind::kCommunication && !work.range.empty();
            });
        if (kernels) return runs(DeviceWorkKind::kCommunication, time);
        return std::any_of(events.collectives.begin(), events.collectives.end(),
                           [&](const auto& each) { return each.start <= time && time < each.end; });
    }
    [[nodiscard]] bool waits(Timestamp time) const {
        return std::any_of(
            events.collectives.begin(), events.collectives.end(),
            [&](const auto& each) { return each.start <= time && time < each.lastArrival(); });
    }

    /// Of an instant in which the device does nothing and the host nothing of note.
    [[nodiscard]] LedgerPart idleAt(Timestamp time) const {
        for (const DeviceWork& work : device.work)
            if (!work.range.empty() && work.launch && *work.launch <= time &&
                time < work.range.begin)
                return LedgerPart::kLaunchBound;
        // The work that ends the gap: what begins first from here on.
        std::optional<Timestamp> next;
        for (const DeviceWork& work : device.work)
            if (!work.range.empty() && work.range.begin > time &&
                (!next || work.range.begin < *next))
                next = work.range.begin;
        if (!next) return LedgerPart::kOther;
        for (const DeviceWork& work : device.work)
            if (!work.range.empty() && work.range.begin == *next && !work.launch)
                return LedgerPart::kOther;
        return LedgerPart::kHostBound;
    }

    [[nodiscard]] LedgerPart partAt(Timestamp time) const {
        if (runs(DeviceWorkKind::kCompute, time)) return LedgerPart::kCompute;
        if (runs(DeviceWorkKind::kOptimizer, time)) return LedgerPart::kOptimizer;
        if (runs(DeviceWorkKind::kEvaluation, time)) return LedgerPart::kEvaluation;
        if (communicates(time)) {
            if (waits(time)) return LedgerPart::kWaiting;
            if (operates(CollectiveOp::kAllGather, time)) return LedgerPart::kExposedGather;
            if (operates(CollectiveOp::kReduceScatter, time))
                return LedgerPart::kExposedReduceScatter;
            if (operates(CollectiveOp::kAllReduce, time)) return LedgerPart::kExposedAllReduce;
            return LedgerPart::kExposedOther;
        }
        if (runs(DeviceWorkKind::kCopy, time)) return LedgerPart::kCopies;
        if (covers(device.profiler, time)) return LedgerPart::kProfiler;
        if (covers(device.data, time)) return LedgerPart::kData;
        if (covers(device.checkpoint, time)) return LedgerPart::kCheckpoint;
        return idleAt(time);
    }
};

std::vector<TimeRange> someRanges(test::RandomEvents& random, std::int64_t most) {
    std::vector<TimeRange> ranges;
    for (std::int64_t n = random.between(0, most); n > 0; --n) {
        const Timestamp begin{random.between(0, 70)};
        ranges.push_back({begin, begin + Duration{random.between(0, 8)}});
    }
    return ranges;
}

/// Small, with everything that can be wrong: no length, overlaps, no launches, launches behind
/// their work, work over the edges of steps.
Case randomCase(test::RandomEvents& random) {
    Case made;
    const std::int64_t launched = random.between(0, 4);
    for (const TimeRange& range : someRanges(random, 10)) {
        DeviceWork& work = made.device.work.emplace_back();
        work.range = range;
        work.kind = static_cast<DeviceWorkKind>(random.between(0, 4));
        if (random.between(0, 3) < launched)
            work.launch = range.begin - Duration{random.between(-3, 25)};
    }
    for (const TimeRange& range : someRanges(random, 5)) {
        CollectiveEvent& each = made.events.collectives.emplace_back();
        each.operation = static_cast<CollectiveOp>(random.between(1, 5));
        each.start = range.begin;
        each.end = range.end;
        if (random.between(0, 1) == 1)
            each.arrivals = {range.begin, range.begin + Duration{random.between(0, 9)}};
    }
    made.device.profiler = someRanges(random, 2);
    made.device.data = someRanges(random, 2);
    made.device.checkpoint = someRanges(random, 1);
    Timestamp begin{random.between(0, 30)};
    for (std::int32_t index = 0; index < 3; ++index) {
        StepFacts& step = made.summary.steps.emplace_back();
        step.step = {index};
        step.start = begin;
        step.end = begin + Duration{random.between(0, 25)};
        begin = step.end + Duration{random.between(0, 3)};
    }
    return made;
}

TEST(DeviceLedger, EqualsBruteForceOfEachNanosecond) {
    test::RandomEvents random(17);
    std::map<LedgerPart, std::int64_t> seen;
    for (int round = 0; round < 10'000; ++round) {
        const Case made = randomCase(random);
        for (const LedgerRow& row : deviceLedger(made.summary, made.events, made.device)) {
            const StepFacts& step = made.summary.steps.at(static_cast<std::size_t>(row.step.value));
            LedgerParts expected{};
            for (Timestamp time = step.start; time < step.end; time = time + Duration{1})
                ++expected[at(made.partAt(time))].ns;
            for (const LedgerPart part : kAll<LedgerPart>) {
                ASSERT_EQ(row.parts[at(part)], expected[at(part)])
                    << toWord(part) << ", round " << round << ", step " << row.step.value;
                seen[part] += row.parts[at(part)].ns;
            }
            ASSERT_EQ(row.wall, step.range().duration());
        }
    }
    for (const LedgerPart part : kAll<LedgerPart>) {
        const bool ofThreads = part == LedgerPart::kNoCore || part == LedgerPart::kStolen;
        EXPECT_EQ(seen[part] > 0, !ofThreads) << toWord(part);
    }
}

}  // namespace
}  // namespace shardscope::analysis
