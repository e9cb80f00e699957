// Where blocks of memory lie at a moment: within the segments that a caching allocator has
// reserved, or, where it is not known what is reserved, in runs of neighbours; and what of a
// segment is free.
//
// A segment = blocks + what is lost within blocks + free blocks. Lost within blocks: what their
// sizes are rounded up by, and gaps that the allocator would not hand out as a block of their own,
// since it splits off nothing smaller than Segment::smallestFree. Fragmentation:
// FreeBlocks::fragmentation().
#pragma once

#include "profiler/analysis/memory/reserved_memory.h"
#include "storage/model/recording.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardscope::analysis {

/// Memory that an allocator holds in one piece.
struct Segment {
    std::uint64_t address = 0;
    Bytes size;
    Bytes rounding{1};      ///< blocks reach to the next multiple of it
    Bytes smallestFree{1};  ///< a gap below this belongs to the block before it
    bool grows = false;     ///< can be longer or shorter later: neighbours of it are one segment
    [[nodiscard]] std::uint64_t end() const {
        return address + static_cast<std::uint64_t>(size.count);
    }
    friend bool operator==(const Segment&, const Segment&) = default;
};

/// A segment, or a part of one that grows, was reserved or given back.
struct SegmentChange {
    Timestamp time;
    Segment segment;
    bool reserved = true;  ///< false: given back
};

/// Segments after all that happened up to `time`, by address: those of the end, with what came
/// later undone. `history` by time. Time: changes x segments in the worst case.
[[nodiscard]] std::vector<Segment> segmentsAt(const std::vector<Segment>& atEnd,
                                              const std::vector<SegmentChange>& history,
                                              Timestamp time);

/// Whether a memory event is of a block that lies somewhere: not the sum of what lies outside the
/// allocator, nor what stands for events that were lost (addresses below 16, FORMAT.md).
[[nodiscard]] bool hasPlace(const MemoryEvent& event);

struct AddressGap {
    std::uint64_t begin = 0, end = 0;
    friend bool operator==(const AddressGap&, const AddressGap&) = default;
};

/// A segment, or a run of blocks of which no two neighbours lie further apart than kRunGap.
struct AddressStretch {
    std::uint64_t begin = 0, end = 0;
    bool reserved = false;            ///< a segment; else nothing is known of the gaps
    std::vector<std::size_t> blocks;  ///< places in the list of blocks, by address
    std::vector<AddressGap> free;     ///< of a segment, by address
    Bytes allocated;                  ///< covered by blocks
};

/// Of blocks without segments: a page of memory.
inline constexpr std::uint64_t kRunGap = 4096;

struct AddressSpace {
    std::vector<AddressStretch> stretches;  ///< by address; none overlap
    bool knowsSegments = false;             ///< what lies in none of them is a run of its own
};

/// How far blocks of segments reach. What is left behind a block and is too small to be split off
/// belongs to it for as long as it lives, whatever becomes free behind that: which is known only
/// from what lay behind it when it was allocated. Of blocks whose allocation is not recorded what
/// their sizes are rounded up by is all that is known.
class BlockReaches {
public:
    /// `segments` of a moment, by address.
    explicit BlockReaches(std::vector<Segment> segments) : m_segments(std::move(segments)) {}
    /// All events up to the moment, by time.
    void take(const MemoryEvent& event);
    /// Of a block that is alive then; nothing: lies in no segment.
    [[nodiscard]] std::optional<std::uint64_t> reach(std::uint64_t address) const;
    [[nodiscard]] const std::vector<Segment>& segments() const { return m_segments; }

private:
    [[nodiscard]] const Segment* segmentOf(std::uint64_t address) const;

    std::vector<Segment> m_segments;
    std::map<std::uint64_t, std::uint64_t> m_ends;  ///< of blocks alive, by address
};

/// `blocks` in any order; those without a place are left out. Without segments (null): runs of
/// blocks.
[[nodiscard]] AddressSpace addressSpace(const std::vector<MemoryEvent>& blocks,
                                        const BlockReaches* reaches);

/// Of all segments together: reserved = allocated + lost + free.all.
struct ReservedNow {
    std::int64_t segments = 0;
    Bytes reserved, allocated, lost;
    FreeBlocks free;
};
/// Absent: nothing is known of segments.
[[nodiscard]] std::optional<ReservedNow> reservedNow(const AddressSpace& space);

/// When blocks came to their end, looked for in events that are shown to it in order of time.
class BlockEnds {
public:
    /// `alive` at a moment; events from after that moment follow.
    explicit BlockEnds(const std::vector<MemoryEvent>& alive);
    void take(const MemoryEvent& event);
    /// Nothing is looked for any more.
    [[nodiscard]] bool complete() const { return m_open.empty(); }

    /// Of each block of `alive`; nothing: not in what was shown. A block whose address is given
    /// out again ended then at the latest.
    [[nodiscard]] const std::vector<std::optional<Timestamp>>& ends() const { return m_ends; }

private:
    std::unordered_map<std::uint64_t, std::size_t> m_open;  ///< by address
    std::vector<std::optional<Timestamp>> m_ends;
};

}  // namespace shardscope::analysis
