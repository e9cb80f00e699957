// Sizes that memory and traffic have in common. Internal to engine/theory.
#pragma once

#include "engine/run/config/run_config.h"

#include <cstdint>
#include <vector>

namespace shardscope::theory {

inline constexpr std::int64_t kFloatBytes = 4;

/// Of parameters in use, activations and logits.
[[nodiscard]] inline std::int64_t computeBytes(const run::RunConfig& config) {
    const bool narrow = config.precision == run::Precision::kBFloat16 ||
                        config.precision == run::Precision::kFloat16;
    return narrow ? 2 : kFloatBytes;
}

/// Of a unit's whole gradients where they are reduced in every micro-step.
[[nodiscard]] inline std::int64_t gradientBytes(const run::RunConfig& config) {
    return config.reduceIn == run::GradientType::kBFloat16 ? 2 : kFloatBytes;
}

/// Elements of a unit's flat buffer, which splits into equal shards of whole cache lines
/// (engine/parallel/views.h).
[[nodiscard]] inline std::int64_t padded(std::int64_t count, std::int64_t ranks) {
    constexpr std::int64_t kCacheLineFloats = 16;
    const std::int64_t step = ranks * kCacheLineFloats;
    return (count + step - 1) / step * step;
}

/// Elements of the pieces in which DDP sends the gradients of a step.
[[nodiscard]] std::vector<std::int64_t> ddpPieces(const run::RunConfig& config);

}  // namespace shardscope::theory
