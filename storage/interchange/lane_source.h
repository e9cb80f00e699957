// What a foreign trace calls a lane.
#pragma once

#include <compare>
#include <string>

namespace shardscope::interchange {

/// What tells lanes of a rank apart in the foreign trace, e.g. ("GPU 0", "stream 7").
struct LaneSource {
    std::string process;
    std::string thread;
    friend auto operator<=>(const LaneSource&, const LaneSource&) = default;
};

}  // namespace shardscope::interchange
