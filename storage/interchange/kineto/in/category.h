// What Kineto's categories are: lanes get their role from here, never from names of events.
#pragma once

#include "storage/model/events.h"

#include <string_view>

namespace shardscope::interchange::kineto {

struct Category {
    std::string_view name;  ///< today's name
    LaneRole role = LaneRole::kHost;
    bool device = false;  ///< pid is a device, tid a stream
    bool kernel = false;  ///< runs on the device's processors
};

/// Names of 2021 give today's category. One that is not known is a host lane of its own, and its
/// `name` is `text`.
[[nodiscard]] Category categoryOf(std::string_view text);

}  // namespace shardscope::interchange::kineto
