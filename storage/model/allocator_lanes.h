// Lanes of what a caching allocator holds: ours, and those of imported traces, which are known by
// the names that their importers give them.
#pragma once

#include "storage/model/lanes.h"
#include "storage/model/words.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace shardscope {

/// Of a memory snapshot: bytes in segments, segments with their blocks as they are at its end, and
/// what of its history is no block, by the names that PyTorch gives it.
inline constexpr const char* kSnapshotReserved = "reserved by the allocator";
inline constexpr const char* kSnapshotSegments = "segments at the end";
inline constexpr const char* kSnapshotHistory = "allocator";

/// A counter of what an allocator holds. Kineto traces have one a device: "reserved: cuda:0".
[[nodiscard]] constexpr bool isReservedLane(std::string_view name) {
    return name == lanes::kDeviceReserved.name || name == kSnapshotReserved ||
           name.starts_with("reserved: ");
}

/// What an entry of the history does to what is reserved.
enum class SegmentAction : std::uint8_t { kAllocate, kFree, kMap, kUnmap };
constexpr auto wordsOf(SegmentAction) {
    return wordList<Word<SegmentAction>>({{SegmentAction::kAllocate, "segment_alloc"},
                                          {SegmentAction::kFree, "segment_free"},
                                          {SegmentAction::kMap, "segment_map"},
                                          {SegmentAction::kUnmap, "segment_unmap"}});
}
[[nodiscard]] constexpr bool reserves(SegmentAction action) {
    return action == SegmentAction::kAllocate || action == SegmentAction::kMap;
}
/// Of a part of a segment, which can grow.
[[nodiscard]] constexpr bool isPart(SegmentAction action) {
    return action == SegmentAction::kMap || action == SegmentAction::kUnmap;
}

/// The counter of what is allocated from what `reserved` counts, of Kineto traces; else empty:
/// memory events say it.
[[nodiscard]] inline std::string allocatedLaneOf(std::string_view reserved) {
    constexpr std::string_view kBegin = "reserved: ";
    if (!reserved.starts_with(kBegin)) return {};
    return "allocated: " + std::string(reserved.substr(kBegin.size()));
}

}  // namespace shardscope
