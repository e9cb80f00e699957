// Bytes of the buffers that communicators of CPU ranks hold for themselves, per rank.
#pragma once

#include "engine/run/config/run_config.h"

#include <cstdint>

namespace shardscope::theory {

/// The largest rows that a run moves, in elements.
struct LargestRows {
    std::int64_t summed = 0;      ///< over the ranks that share the state
    std::int64_t summedEach = 4;  ///< bytes of an element of it
    std::int64_t across = 0;      ///< a shard over the groups of hsdp, fp32
    bool gathers = false;         ///< rows are gathered into memory that ranks do not share
};

/// From the first step on, when every operation has run once. Zero for GPUs and for ranks that all
/// share one host's memory.
[[nodiscard]] std::int64_t communicatorBytes(const run::RunConfig& config, const LargestRows& rows);

}  // namespace shardscope::theory
