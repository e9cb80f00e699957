// Column chunks: up to 65,536 events of one kind and rank as compressed columns.
//
// Byte layout: storage/schema/FORMAT.md. Encoding and decoding are pure and thread-safe.
// Decoding never trusts its input: any byte string gives events or an error.
#pragma once

#include "storage/model/events.h"
#include "storage/model/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shardscope::columns {

inline constexpr std::size_t kMaxChunkEvents = 65'536;
/// What a recording keeps in one chunk: readers decode whole chunks, of every lane on screen.
inline constexpr std::size_t kStoredChunkEvents = 8'192;

using ChunkBytes = std::vector<std::byte>;

struct LaneCount {
    LaneId lane;
    std::uint32_t count = 0;
};

/// The uncompressed front of every chunk.
struct ChunkHeader {
    std::uint8_t codecVersion = 0;
    EventKind kind = EventKind::kSpan;
    RankId rank;
    std::uint32_t count = 0;
    Timestamp first;               ///< earliest start
    Timestamp last;                ///< latest end
    std::vector<LaneCount> lanes;  ///< none of memory and collectives
};

/// Events must be sorted by start (or time) and at most kMaxChunkEvents; not empty.
ChunkBytes encodeSpans(RankId rank, std::span<const SpanEvent> events);
ChunkBytes encodeMemory(RankId rank, std::span<const MemoryEvent> events);
ChunkBytes encodeCounters(RankId rank, std::span<const CounterEvent> events);
ChunkBytes encodeCollectives(RankId rank, std::span<const CollectiveEvent> events);
ChunkBytes encodeFlows(RankId rank, std::span<const FlowEvent> events);
ChunkBytes encodeInstants(RankId rank, std::span<const InstantEvent> events);

Result<ChunkHeader> decodeHeader(std::span<const std::byte> chunk);

/// Makes them events of this rank. Nothing else of them is looked at.
Result<void> giveTo(RankId rank, ChunkBytes& chunk);

/// The same chunk, smaller and slower to make.
Result<ChunkBytes> packedSmall(std::span<const std::byte> chunk);
Result<std::vector<SpanEvent>> decodeSpans(std::span<const std::byte> chunk);
Result<std::vector<MemoryEvent>> decodeMemory(std::span<const std::byte> chunk);
Result<std::vector<CounterEvent>> decodeCounters(std::span<const std::byte> chunk);
Result<std::vector<CollectiveEvent>> decodeCollectives(std::span<const std::byte> chunk);
Result<std::vector<FlowEvent>> decodeFlows(std::span<const std::byte> chunk);
Result<std::vector<InstantEvent>> decodeInstants(std::span<const std::byte> chunk);

}  // namespace shardscope::columns
