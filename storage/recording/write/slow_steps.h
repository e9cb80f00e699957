// Keeps detail only of the steps around slow ones: chunks wait here until it is known whether their
// steps are. One step before a slow one, it, one after; what lies before the first step stays.
//
// As a flight recorder, with a window: chunks wait for so long, and all of what waits is kept once
// something happens: a step is slow, or keep() is called.
//
// Bounded: chunks of steps that stay undecided for too long are given up, oldest first. Lives on
// the writer's thread, in front of it.
#pragma once

#include "storage/columns/chunk.h"
#include "storage/recording/write/memory_balance.h"
#include "storage/recording/write/recording_writer.h"

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <vector>

namespace shardscope::storage {

class SlowSteps {
public:
    static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

    /// A step is slow that takes `factor` times the median of those before it, of one rank at
    /// least. `writer` outlives it; `ranks` are all of the run.
    SlowSteps(RecordingWriter& writer, double factor, std::int32_t ranks,
              std::size_t mostBytes = kMostBytes)
        : m_writer(&writer), m_factor(factor), m_ranks(ranks), m_mostBytes(mostBytes) {}
    /// A flight recorder: `window` before something happens is kept, within `mostBytes`.
    SlowSteps(RecordingWriter& writer, double factor, Duration window, std::size_t mostBytes)
        : m_writer(&writer), m_factor(factor), m_mostBytes(mostBytes), m_window(window) {}

    /// The run has more ranks than it was known to have: they are to be waited for.
    void expect(std::int32_t ranks) { m_ranks = ranks; }
    /// A chunk of the rank, as RecordingWriter::addChunk takes it.
    Result<void> add(RankId rank, std::span<const std::byte> chunk);
    /// Steps come in order, of each rank.
    Result<void> stepDone(const StepFacts& step);
    /// All that waits is kept, and the step in hand.
    void keep();
    /// No more steps come: what waits is decided by what is known.
    Result<void> finish();

    /// Events that were given up because too much waited.
    [[nodiscard]] std::uint64_t squeezedOut() const { return m_squeezedOut; }

private:
    struct Step {
        std::int32_t number = 0;
        TimeRange range;
    };
    struct Rank {
        std::deque<Step> steps;              ///< of late, in order
        std::deque<std::int64_t> durations;  ///< of the last steps, ns
        std::deque<columns::ChunkBytes> waiting;
        MemoryBalance now, file;  ///< blocks alive: really, and as the file has it
        bool keeping = true;      ///< the last memory event was kept
        /// Memory events left out since then, by step.
        std::map<std::int32_t, std::uint64_t> gap;
    };
    using Dropped = std::map<std::int32_t, std::uint64_t>;

    void judge(Rank& rank, const StepFacts& step);
    [[nodiscard]] std::int32_t decidable(std::int32_t done) const;
    Result<void> decide(std::int32_t through);
    Result<void> release(RankId id, bool everything);
    Result<void> squeeze();
    [[nodiscard]] Timestamp decidedUntil(const Rank& rank) const;
    [[nodiscard]] static std::int32_t stepOf(const Rank& rank, StepIndex tag, Timestamp time);
    [[nodiscard]] bool isKept(std::int32_t step) const;
    /// Stores what is kept of a chunk; nothing of it where `giveUp`.
    Result<void> take(RankId id, std::span<const std::byte> chunk, bool giveUp);
    template <class Event, class Decode, class Encode>
    Result<void> takeAs(RankId id, std::span<const std::byte> chunk, bool giveUp, Decode decode,
                        Encode encode);
    Result<void> takeMemory(RankId id, std::span<const std::byte> chunk, bool giveUp);
    Result<void> declare(RankId id, const Dropped& dropped);

    RecordingWriter* m_writer;
    double m_factor;
    std::int32_t m_ranks = 0;
    std::size_t m_mostBytes;
    Duration m_window{};  ///< 0: none
    std::map<RankId, Rank> m_byRank;
    std::map<std::int32_t, std::int32_t> m_done;  ///< how many ranks have done a step
    std::set<std::int32_t> m_slow;
    std::int32_t m_first = -1;    ///< the run's first step; -1: none yet
    std::int32_t m_decided = -1;  ///< last step of which it is known whether it is kept
    std::size_t m_bytes = 0;      ///< of all that waits
    std::uint64_t m_squeezedOut = 0;
};

}  // namespace shardscope::storage
