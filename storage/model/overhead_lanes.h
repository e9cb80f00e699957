// Lanes of what a tracer took of the host's time.
#pragma once

#include "storage/model/lanes.h"

#include <string_view>

namespace shardscope {

/// Ours, and those of imported traces, which are known by the names that their importers gave them.
[[nodiscard]] constexpr bool isOverheadLane(LaneId lane, std::string_view name) {
    if (isTracerOverhead(lane, name)) return true;
    for (const std::string_view end : {": overhead", ": CUDA overhead", ": profiler overhead"})
        if (name.ends_with(end)) return true;
    return name.find(": overhead (") != std::string_view::npos;  // of one process of several
}

}  // namespace shardscope
