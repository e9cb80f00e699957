// A made-up run of any length for tests of recordings that are thinned: it remembers all that it
// recorded and holds what a file says against it.
#pragma once

#include "storage/columns/chunk.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/verify/verify_recording.h"
#include "storage/recording/write/memory_balance.h"
#include "storage/recording/write/recording_writer.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::storage {

using test::IsOk;

constexpr std::int32_t kRanks = 2;
constexpr LaneId kRange{0}, kCompute{1}, kOperators{2}, kCommunication{3}, kUsage{4};
constexpr Duration kStep{100'000'000};
constexpr std::int32_t kFirstStep = 5;
constexpr Bytes kPersistent{1 << 20};

/// A run that goes on as long as one likes, and remembers all it recorded.
class LongRun {
public:
    LongRun(const std::string& path, const SizeLimit& limit, std::uint64_t seed,
            int operatorsAStep = 400)
        : m_path(path), m_random(seed), m_operatorsAStep(operatorsAStep) {
        RunFacts run;
        run.id = "0123456789abcdef0123456789abcdef";
        run.configJson = "{}";
        run.worldSize = kRanks;
        auto writer = RecordingWriter::create(path, run, true);
        EXPECT_THAT(writer, IsOk());
        m_writer.emplace(std::move(*writer));
        EXPECT_THAT(m_writer->limitSize(limit), IsOk());
        EXPECT_THAT(m_writer->addHost({0, "host", "cpu", 2, {1 << 30}, "boot", 0, 0}), IsOk());
        for (std::uint32_t rank = 0; rank < kRanks; ++rank) begin({rank});
    }

    /// Goes on by so many steps; sizes on the way are checked against `most`.
    void record(int steps, Bytes most) {
        for (int i = 0; i < steps; ++i, ++m_step) {
            for (std::uint32_t rank = 0; rank < kRanks; ++rank) step({rank});
            // What waits in a rank comes in pieces that know no steps.
            if (m_random.between(0, 2) == 0)
                for (std::uint32_t rank = 0; rank < kRanks; ++rank) send({rank});
            if (m_random.between(0, 4) == 0) {
                ASSERT_THAT(m_writer->flush(), IsOk());
            }
            if (m_random.between(0, 9) == 0) {
                ASSERT_THAT(m_writer->flush(), IsOk());
                ASSERT_THAT(m_writer->checkpoint(), IsOk());
            }
            const auto size = sizeOnDisk();
            EXPECT_LE(size, most.count) << "in step " << m_step;
            m_largest = std::max(m_largest, size);
        }
    }

    void finalise() {
        for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
            send({rank});
            putRank({rank});
        }
        ASSERT_THAT(m_writer->finalise(RunStatus::kFinished, now()), IsOk());
        m_largest = std::max(m_largest, sizeOnDisk());
        m_writer.reset();
    }
    void flush() {
        for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
            send({rank});
            putRank({rank});
        }
        ASSERT_THAT(m_writer->flush(), IsOk());
        ASSERT_THAT(m_writer->flush(), IsOk());
    }

    [[nodiscard]] std::int64_t sizeOnDisk() const {
        std::int64_t size = 0;
        for (const char* suffix : {"", "-wal"}) {
            std::error_code missing;
            const auto own = std::filesystem::file_size(m_path + suffix, missing);
            if (!missing) size += static_cast<std::int64_t>(own);
        }
        return size;
    }
    [[nodiscard]] std::int64_t largest() const { return m_largest; }
    [[nodiscard]] std::int32_t steps() const { return m_step; }
    [[nodiscard]] RecordingWriter& writer() { return *m_writer; }

    /// Holds what `path` says against what was recorded.
    void expectTrue(const std::string& path) {
        const auto found = verifyRecording(path);
        ASSERT_THAT(found, IsOk());
        for (const Fault& fault : found->faults) ADD_FAILURE() << fault.where << ": " << fault.what;
        auto reader = openRecording(path);
        ASSERT_THAT(reader, IsOk());
        const auto summary = (*reader)->summary();
        ASSERT_THAT(summary, IsOk());
        EXPECT_EQ(summary->steps.size(), static_cast<std::size_t>((m_step - kFirstStep) * kRanks));
        for (std::uint32_t rank = 0; rank < kRanks; ++rank) expectRank(**reader, *summary, {rank});
    }

    static constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};

private:
    struct Rank {
        std::vector<SpanEvent> spans, allSpans;
        std::vector<CounterEvent> samples, allSamples;
        std::vector<MemoryEvent> memory, allMemory;
        std::vector<CollectiveEvent> collectives, allCollectives;
        std::uint64_t sequence = 0, address = 4096;
        std::uint64_t emitted = 0;
        std::vector<MemoryEvent> longLived;
    };

    [[nodiscard]] Timestamp now() const { return {m_step * kStep.ns + kStep.ns}; }

    void begin(RankId rank) {
        m_ranks.resize(kRanks);
        for (const auto& [lane, role] :
             {std::pair{kRange, LaneRole::kRange}, std::pair{kCompute, LaneRole::kCompute},
              std::pair{kOperators, LaneRole::kHost},
              std::pair{kCommunication, LaneRole::kCommunication},
              std::pair{kUsage, LaneRole::kCounter}})
            ASSERT_THAT(m_writer->addLane({rank, lane, role, "lane", "", 0}), IsOk());
        ASSERT_THAT(m_writer->addStrings(rank, {1}, {"something"}), IsOk());
        putRank(rank);
        Rank& own = m_ranks[rank.value];
        // Calibration takes more than training ever does.
        block(own, {1000}, {std::int64_t{1} << 34}, {200'000'000});
        span(own, kCompute, {500}, {300'000'000}, kNoStep, Phase::kCalibration);
        for (int i = 0; i < 5; ++i) block(own, {400'000'000 + i}, kPersistent, {});
        m_step = kFirstStep;  // as after --resume
    }

    void putRank(RankId rank) {
        RankFacts facts;
        facts.rank = rank;
        facts.emitted = m_ranks[rank.value].emitted;
        facts.device = "cpu";
        facts.peakSource = "none";
        ASSERT_THAT(m_writer->putRank(facts), IsOk());
    }

    void span(Rank& rank, LaneId lane, Timestamp start, Duration duration, StepIndex step,
              Phase phase = Phase::kForward, std::uint8_t depth = 0) {
        SpanEvent event;
        event.start = start;
        event.duration = duration;
        event.lane = lane;
        event.name = {1};
        event.step = step;
        event.phase = phase;
        event.depth = depth;
        rank.spans.push_back(event);
    }

    /// Alive for `life`; for good where that is none.
    void block(Rank& rank, Timestamp time, Bytes size, Duration life) {
        MemoryEvent event;
        event.time = time;
        event.address = rank.address += 64;
        event.size = size;
        event.category = static_cast<MemoryCategory>(event.address / 64 % 5);
        event.owner = {1};
        event.step = {m_step};
        rank.memory.push_back(event);
        if (life.ns == 0) return;
        event.time = time + life;
        event.action = MemoryAction::kFree;
        rank.memory.push_back(event);
    }

    void step(RankId id) {
        Rank& rank = m_ranks[id.value];
        const Timestamp start{m_step * kStep.ns + id.value * 1000};
        const Timestamp end{start.ns + kStep.ns - 5000};
        const StepIndex step{m_step};
        span(rank, kRange, start, end - start, step);
        for (int i = 0; i < 20; ++i)
            span(rank, kCompute, {start.ns + i * 4'000'000}, {3'500'000}, step);
        const std::int64_t pace = 90'000'000 / m_operatorsAStep;
        for (int i = 0; i < m_operatorsAStep; ++i) {
            const Timestamp at{start.ns + i * pace};
            span(rank, kOperators, at, {m_random.between(1, pace)}, step, Phase::kForward,
                 static_cast<std::uint8_t>(i % 3));
            if (i % 4 == 0)
                block(rank, at, {m_random.between(64, 100'000)}, {m_random.between(1, pace * 40)});
        }
        // One that outlives some steps, and its peak in the run's first third.
        block(rank, {start.ns + 50'000'000}, {m_step < 30 ? 90'000'000 : 1'000'000},
              {3 * kStep.ns + 7});
        for (int i = 0; i < 6; ++i) collective(rank, step, {start.ns + i * 10'000'000});
        rank.samples.push_back({{start.ns + 1000}, kUsage, static_cast<double>(m_step)});
        StepFacts facts;
        facts.rank = id;
        facts.step = step;
        facts.start = start;
        facts.end = end;
        ASSERT_THAT(m_writer->addStep(facts), IsOk());
    }

    void collective(Rank& rank, StepIndex step, Timestamp at) {
        CollectiveEvent event;
        event.operation = CollectiveOp::kAllGather;
        event.cause = Cause::kDemand;
        event.step = step;
        event.sequence = ++rank.sequence;
        event.size = {4096};
        event.issue = at;
        event.start = {at.ns + 10};
        event.end = {at.ns + 50'000};
        event.arrivals = {event.start, event.start};
        rank.collectives.push_back(event);
        span(rank, kCommunication, event.start, event.end - event.start, step);
    }

    template <class Event, class Encode, class TimeOf>
    void sendAs(RankId rank, std::vector<Event>& events, std::vector<Event>& all, Encode encode,
                TimeOf timeOf) {
        std::stable_sort(events.begin(), events.end(),
                         [&](const Event& a, const Event& b) { return timeOf(a) < timeOf(b); });
        // Memory that is freed later than this step comes with what is sent then.
        std::vector<Event> ready, later;
        for (const Event& event : events) (timeOf(event) < now() ? ready : later).push_back(event);
        const std::size_t part = 20'000;
        for (std::size_t at = 0; at < ready.size(); at += part) {
            const auto some =
                std::span<const Event>(ready).subspan(at, std::min(part, ready.size() - at));
            ASSERT_THAT(m_writer->addChunk(encode(rank, some)), IsOk());
        }
        m_ranks[rank.value].emitted += ready.size();
        all.insert(all.end(), ready.begin(), ready.end());
        events = later;
    }

    void send(RankId id) {
        Rank& rank = m_ranks[id.value];
        sendAs(id, rank.spans, rank.allSpans, columns::encodeSpans,
               [](const SpanEvent& e) { return e.start; });
        sendAs(id, rank.memory, rank.allMemory, columns::encodeMemory,
               [](const MemoryEvent& e) { return e.time; });
        sendAs(id, rank.samples, rank.allSamples, columns::encodeCounters,
               [](const CounterEvent& e) { return e.time; });
        sendAs(id, rank.collectives, rank.allCollectives, columns::encodeCollectives,
               [](const CollectiveEvent& e) { return e.start; });
    }

    void expectRank(RecordingReader& reader, const RecordingSummary& summary, RankId id) {
        const Rank& rank = m_ranks[id.value];
        const Timestamp light = thinnedUntil(summary.detail, id, true);
        const Timestamp all = thinnedUntil(summary.detail, id, false);
        std::size_t kept = 0, sent = rank.allSpans.size() + rank.allMemory.size() +
                                     rank.allSamples.size() + rank.allCollectives.size();
        for (const LaneId lane : {kRange, kCompute, kOperators, kCommunication}) {
            std::vector<SpanEvent> expected;
            const Timestamp until = lane == kOperators ? light : all;
            for (const SpanEvent& event : rank.allSpans)
                if (event.lane == lane && event.start >= until) expected.push_back(event);
            std::stable_sort(
                expected.begin(), expected.end(),
                [](const SpanEvent& a, const SpanEvent& b) { return a.start < b.start; });
            const auto found = reader.spans(id, lane, kEverything);
            ASSERT_THAT(found, IsOk());
            EXPECT_EQ(found->size(), expected.size()) << "lane " << lane.value;
            EXPECT_TRUE(*found == expected) << "lane " << lane.value;
            kept += found->size();
            expectDrawn(reader, id, lane, until, expected.size());
        }
        const auto samples = reader.samples(id, kUsage, kEverything);
        ASSERT_THAT(samples, IsOk());
        EXPECT_EQ(samples->size(), static_cast<std::size_t>(std::count_if(
                                       rank.allSamples.begin(), rank.allSamples.end(),
                                       [&](const CounterEvent& e) { return e.time >= all; })));
        const auto events = reader.rankEvents(id, kEverything);
        ASSERT_THAT(events, IsOk());
        EXPECT_EQ(events->collectives.size(),
                  static_cast<std::size_t>(
                      std::count_if(rank.allCollectives.begin(), rank.allCollectives.end(),
                                    [&](const CollectiveEvent& e) { return e.issue >= all; })));
        kept += samples->size() + events->collectives.size();
        kept += expectMemory(reader, id, light);
        std::uint64_t removed = 0;
        for (const DetailFacts& facts : summary.detail)
            if (facts.rank == id) removed += facts.removed.value_or(0);
        EXPECT_EQ(kept + removed, sent);
        expectSteps(summary, id, light, all);
    }

    /// Steps that are not declared have everything, and begin where the rest begins.
    void expectSteps(const RecordingSummary& summary, RankId id, Timestamp light, Timestamp all) {
        for (const DetailFacts& facts : summary.detail) {
            EXPECT_GE(facts.first.value, kFirstStep);
            EXPECT_LT(facts.range.begin, facts.range.end);
        }
        const StepDetail detail(summary.detail);
        for (const StepFacts& step : summary.steps) {
            if (step.rank != id) continue;
            const CaptureLevel level = detail.of(id, step.step);
            if (level == CaptureLevel::kSteps) continue;
            EXPECT_GE(step.start, level == CaptureLevel::kFull ? light : all) << step.step.value;
        }
    }

    std::size_t expectMemory(RecordingReader& reader, RankId id, Timestamp until) {
        const Rank& rank = m_ranks[id.value];
        MemoryBalance balance;
        std::vector<MemoryEvent> expected;
        for (const MemoryEvent& event : rank.allMemory)
            if (event.time < until) balance.apply(event);
        expected = balance.at(until);
        const std::size_t moved = expected.size();
        for (const MemoryEvent& event : rank.allMemory)
            if (event.time >= until) expected.push_back(event);
        const auto found = reader.memoryEvents(id, kEverything);
        EXPECT_THAT(found, IsOk());
        if (!found) return 0;
        EXPECT_EQ(found->size(), expected.size());
        const auto front = [&](std::vector<MemoryEvent> events) {
            events.resize(std::min(events.size(), moved));
            std::sort(events.begin(), events.end(), [](const MemoryEvent& a, const MemoryEvent& b) {
                return a.address < b.address;
            });
            return events;
        };
        EXPECT_TRUE(front(*found) == front(expected));
        // The highest of the run, calibration left out.
        Bytes total, peak;
        for (const MemoryEvent& event : rank.allMemory) {
            const bool plus = event.action == MemoryAction::kAllocate;
            total = plus ? total + event.size : total - event.size;
            if (event.time >= Timestamp{300'000'500}) peak = std::max(peak, total);
        }
        const auto events = reader.rankEvents(id, kEverything);
        EXPECT_TRUE(events && events->peakMemory == peak)
            << events->peakMemory.count << " instead of " << peak.count;
        return found->size();
    }

    /// The timeline shows every event that is there, and at its left edge at most a bucket more.
    void expectDrawn(RecordingReader& reader, RankId id, LaneId lane, Timestamp until,
                     std::size_t expected) {
        for (const std::int64_t pixel : {1'000'000, 20'000'000, 400'000'000}) {
            const auto slices = reader.slices(id, lane, kEverything, {pixel});
            ASSERT_THAT(slices, IsOk());
            std::uint64_t drawn = 0;
            for (const LaneSlice& slice : *slices) drawn += slice.count;
            const Timestamp edge{until.ns - 4 * pixel};
            const auto most = std::count_if(
                m_ranks[id.value].allSpans.begin(), m_ranks[id.value].allSpans.end(),
                [&](const SpanEvent& e) { return e.lane == lane && e.start >= edge; });
            EXPECT_GE(drawn, expected) << "pixel " << pixel;
            EXPECT_LE(drawn, static_cast<std::uint64_t>(most)) << "pixel " << pixel;
        }
    }

    std::string m_path;
    std::optional<RecordingWriter> m_writer;
    test::RandomEvents m_random;
    int m_operatorsAStep;
    std::vector<Rank> m_ranks;
    std::int32_t m_step = 0;
    std::int64_t m_largest = 0;
};

}  // namespace shardscope::storage
