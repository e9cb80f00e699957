#include "storage/interchange/collective_kernels.h"

namespace shardscope::interchange {

bool isCollectiveKernel(std::string_view name) {
    const auto starts = [&](std::string_view front) { return name.starts_with(front); };
    return starts("nccl") || starts("rccl") || starts("hccl") ||
           name.find("ncclKernel") != std::string_view::npos ||
           name.find("ncclDevKernel") != std::string_view::npos;
}

}  // namespace shardscope::interchange
