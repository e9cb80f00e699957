// The importers' only rule on names: which kernels are collectives.
#pragma once

#include <string_view>

namespace shardscope::interchange {

/// Of NCCL and its kin.
[[nodiscard]] bool isCollectiveKernel(std::string_view name);

}  // namespace shardscope::interchange
