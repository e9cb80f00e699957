#include "engine/parallel/shard_layout.h"

namespace shardscope::parallel {

ShardLayout layOut(std::span<const kernels::Parameter> parameters, std::int64_t ranks) {
    ShardLayout layout;
    layout.ranks = ranks;
    for (const kernels::Parameter& parameter : parameters) {
        layout.offsets.push_back(layout.used);
        layout.used += parameter.count();
        if (parameter.decayed.value_or(parameter.decays())) layout.decaying = layout.used;
    }
    const std::int64_t step = ranks * kCacheLineFloats;
    layout.shard = (layout.used + step - 1) / step * kCacheLineFloats;
    return layout;
}

}  // namespace shardscope::parallel
