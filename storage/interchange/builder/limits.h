// How far the trace builder lets a trace go.
#pragma once

#include "storage/columns/chunk.h"
#include "storage/model/units.h"

#include <cstddef>
#include <cstdint>

namespace shardscope::interchange {

/// An event may come this many places late in its lane and still be stored in order.
inline constexpr std::size_t kWindow = 16'384;
inline constexpr std::size_t kFullWindow = columns::kMaxChunkEvents + kWindow;
/// Of all lanes together; beyond it the longest window is stored early. About 30 MB.
inline constexpr std::size_t kMostBuffered = 600'000;
/// Of their arguments, 8 bytes each.
inline constexpr std::size_t kMostNumbers = std::size_t{8} << 20;
/// A trace with more rows than this is broken or hostile, and every lane costs memory.
inline constexpr std::uint32_t kMostLanesAKind = 4096;
inline constexpr std::size_t kMostLanes = std::size_t{4} * kMostLanesAKind;
/// Beyond this an event cannot be stored (storage/schema/FORMAT.md).
inline constexpr std::int64_t kStorableTime = std::int64_t{1} << 60;

[[nodiscard]] constexpr bool isStorable(Timestamp time) {
    return time.ns >= -kStorableTime && time.ns <= kStorableTime;
}

}  // namespace shardscope::interchange
