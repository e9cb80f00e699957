// Lanes of what a caching allocator holds: ours, and those of imported traces, which are known by
// the names that their importers give them.
#pragma once

#include "storage/model/lanes.h"

#include <string>
#include <string_view>

namespace shardscope {

/// Of a memory snapshot: bytes in segments, and segments with their blocks as they are at its end.
inline constexpr const char* kSnapshotReserved = "reserved by the allocator";
inline constexpr const char* kSnapshotSegments = "segments at the end";

/// A counter of what an allocator holds. Kineto traces have one a device: "reserved: cuda:0".
[[nodiscard]] constexpr bool isReservedLane(std::string_view name) {
    return name == lanes::kDeviceReserved.name || name == kSnapshotReserved ||
           name.starts_with("reserved: ");
}

/// The counter of what is allocated from what `reserved` counts, of Kineto traces; else empty:
/// memory events say it.
[[nodiscard]] inline std::string allocatedLaneOf(std::string_view reserved) {
    constexpr std::string_view kBegin = "reserved: ";
    if (!reserved.starts_with(kBegin)) return {};
    return "allocated: " + std::string(reserved.substr(kBegin.size()));
}

}  // namespace shardscope
