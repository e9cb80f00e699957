#include "tests/bench/recording_generator.h"

#include "storage/columns/chunk.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/recording/write/recording_writer.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

namespace shardscope::bench {
namespace {

constexpr std::uint32_t kRanks = 4;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kStep = 200'000'000;  ///< a training step takes 0.2 s
constexpr std::uint32_t kNames = 200;

/// One lane's way of recording: how often, how long, how deep.
struct LaneStyle {
    LaneId lane;
    LaneRole role;
    const char* name;
    std::int64_t gap;  ///< ns between starts, on average
    std::uint8_t depths;
};
constexpr LaneStyle kSpanLanes[] = {
    {{1}, LaneRole::kCompute, "compute", 1'000'000, 1},
    {{2}, LaneRole::kHost, "operators", 50'000, 4},
    {{17}, LaneRole::kHost, "operators (thread 1)", 50'000, 4},
    {{8192}, LaneRole::kRuntime, "CUDA calls", 40'000, 1},
    {{4096}, LaneRole::kCompute, "stream 7", 60'000, 1},
    {{4097}, LaneRole::kCompute, "stream 11", 90'000, 1},
    {{4098}, LaneRole::kCommunication, "stream 20", 200'000, 1},
    {{4099}, LaneRole::kCopy, "stream 24", 200'000, 1},
};
constexpr LaneStyle kCounterLanes[] = {
    {{4}, LaneRole::kCounter, "resident set", 1'000'000, 1},
    {{5}, LaneRole::kCounter, "CPU time", 1'000'000, 1},
};
constexpr std::int64_t kMemoryGap = 60'000;

double secondsSince(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Generator {
public:
    Generator(storage::RecordingWriter& writer, GeneratedRecording& account)
        : m_writer(writer), m_account(account) {}

    Result<void> declare() {
        std::vector<std::string> names;
        for (std::uint32_t i = 0; i < kNames; ++i)
            names.push_back("aten::operation_" + std::to_string(i));
        if (auto added = m_writer.addHost({}); !added) return added;
        for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
            std::int32_t order = 0;
            const auto add = [&](const LaneStyle& lane, const char* unit) {
                return m_writer.addLane({{rank}, lane.lane, lane.role, lane.name, unit, order++});
            };
            for (const LaneStyle& lane : kSpanLanes)
                if (auto added = add(lane, ""); !added) return added;
            for (const LaneStyle& lane : kCounterLanes)
                if (auto added = add(lane, "bytes"); !added) return added;
            if (auto added = m_writer.addStrings({rank}, {1}, names); !added) return added;
            RankFacts facts;
            facts.rank = {rank};
            if (auto put = m_writer.putRank(facts); !put) return put;
        }
        return m_writer.flush();
    }

    /// What all ranks record from `begin` for a second.
    Result<void> second(std::int64_t begin) {
        for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
            auto done = send({rank}, spans(begin), columns::encodeSpans);
            if (done) done = send({rank}, counters(begin), columns::encodeCounters);
            if (done) done = send({rank}, memory(begin), columns::encodeMemory);
            if (!done) return done;
        }
        const auto start = std::chrono::steady_clock::now();
        auto flushed = m_writer.flush();
        m_account.appendSeconds += secondsSince(start);
        return flushed;
    }

private:
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(m_random);
    }

    std::vector<SpanEvent> spans(std::int64_t begin) {
        std::vector<SpanEvent> events;
        for (const LaneStyle& lane : kSpanLanes) addLane(lane, begin, events);
        std::stable_sort(events.begin(), events.end(), [](const SpanEvent& a, const SpanEvent& b) {
            return std::pair(a.start, a.depth) < std::pair(b.start, b.depth);
        });
        return events;
    }

    /// Operators nest: an outer one and its children, each within the one before.
    void addLane(const LaneStyle& lane, std::int64_t begin, std::vector<SpanEvent>& events) {
        const std::int64_t cycle = lane.gap * lane.depths;
        for (std::int64_t at = begin; at < begin + kSecond; at += cycle) {
            std::int64_t start = at + between(0, cycle / 8);
            std::int64_t length = cycle * 3 / 4;
            for (std::uint8_t depth = 0; depth < lane.depths; ++depth) {
                SpanEvent event;
                event.start = {start};
                event.duration = {length - between(0, length / 4)};
                event.lane = lane.lane;
                event.name = {static_cast<std::uint32_t>(1 + (at / cycle * 7 + depth) % kNames)};
                event.correlation = ++m_correlation;
                event.step = {static_cast<std::int32_t>(at / kStep)};
                event.layer = {static_cast<std::int16_t>(at % kStep / (kStep / 12))};
                event.phase = static_cast<Phase>(2 + at % kStep / (kStep / 3) % 3);
                event.depth = depth;
                events.push_back(event);
                start += event.duration.ns / 8;
                length = event.duration.ns / 2;
            }
        }
    }

    std::vector<CounterEvent> counters(std::int64_t begin) {
        std::vector<CounterEvent> samples;
        for (std::int64_t at = begin; at < begin + kSecond; at += kCounterLanes[0].gap)
            for (const LaneStyle& lane : kCounterLanes)
                samples.push_back({{at}, lane.lane, static_cast<double>(between(0, 1 << 30))});
        return samples;
    }

    std::vector<MemoryEvent> memory(std::int64_t begin) {
        std::vector<MemoryEvent> events;
        for (std::int64_t at = begin; at < begin + kSecond; at += kMemoryGap) {
            const std::int64_t index = at / kMemoryGap;
            MemoryEvent event;
            event.time = {at};
            event.address = 0x7f0000000000 + static_cast<std::uint64_t>(index / 2 % 300) * 4096;
            event.size = {512 * (1 + index / 2 % 40)};
            event.action = index % 2 == 0 ? MemoryAction::kAllocate : MemoryAction::kFree;
            event.category =
                index / 2 % 3 == 0 ? MemoryCategory::kTemporary : MemoryCategory::kActivation;
            event.owner = {static_cast<std::uint32_t>(1 + index / 2 % kNames)};
            event.step = {static_cast<std::int32_t>(at / kStep)};
            events.push_back(event);
        }
        return events;
    }

    template <class Event, class Encode>
    Result<void> send(RankId rank, const std::vector<Event>& events, Encode encode) {
        for (std::size_t at = 0; at < events.size(); at += columns::kMaxChunkEvents) {
            const auto part = std::span(events).subspan(
                at, std::min(columns::kMaxChunkEvents, events.size() - at));
            auto start = std::chrono::steady_clock::now();
            const columns::ChunkBytes chunk = encode(rank, part);
            m_account.encodeSeconds += secondsSince(start);
            start = std::chrono::steady_clock::now();
            if (auto added = m_writer.addChunk(chunk); !added) return added;
            m_account.appendSeconds += secondsSince(start);
            m_account.events += part.size();
            m_account.chunkBytes += chunk.size();
        }
        return {};
    }

    storage::RecordingWriter& m_writer;
    GeneratedRecording& m_account;
    std::mt19937_64 m_random{17};
    std::uint64_t m_correlation = 0;
};

}  // namespace

Result<GeneratedRecording> generateRecording(const std::string& path, std::uint64_t events) {
    RunFacts run;
    run.id = "generated";
    run.worldSize = kRanks;
    auto writer = storage::RecordingWriter::create(path, run, true);
    if (!writer) return failure(writer);
    GeneratedRecording account;
    Generator generator(*writer, account);
    if (auto declared = generator.declare(); !declared) return failure(declared);
    std::int64_t begin = 0;
    for (; account.events < events; begin += kSecond)
        if (auto done = generator.second(begin); !done) return failure(done);
    const auto start = std::chrono::steady_clock::now();
    if (auto done = writer->finalise(RunStatus::kFinished, {begin}); !done) return failure(done);
    account.finaliseSeconds = secondsSince(start);
    return account;
}

}  // namespace shardscope::bench
