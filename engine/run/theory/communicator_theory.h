// Bytes of the buffers that communicators of CPU ranks hold for themselves, per rank.
#pragma once

#include "engine/run/config/run_config.h"
#include "storage/model/events.h"

#include <cstdint>

namespace shardscope::theory {

/// The largest rows that a run moves, in elements.
struct LargestRows {
    std::int64_t summed = 0;      ///< over the ranks that share the state
    std::int64_t summedEach = 4;  ///< bytes of an element of it
    std::int64_t across = 0;      ///< a shard over the groups of hsdp, fp32
    std::int64_t exchanged = 0;   ///< between ranks that share layers
    std::int64_t exchangedEach = 4;
    bool gathers = false;  ///< rows are gathered into memory that ranks do not share
};

/// From the first step on, when every operation has run once. Zero for GPUs and for ranks that all
/// share one host's memory.
[[nodiscard]] std::int64_t communicatorBytes(const run::RunConfig& config, const LargestRows& rows);

// How long a collective takes on a link of constant latency and bandwidth: the formulas behind
// modelled links (engine/comm/modelled_communicator.h) and behind what is predicted of real ones.
// Pure, torch-free.

/// The alpha-beta model (Hockney 1994).
struct LinkModel {
    double latencySeconds = 0;  ///< alpha, for each hop
    double bytesPerSecond = 0;  ///< 1 / beta, in each direction
};

/// For n ranks and S bytes, which are CollectiveReport::sizeBytes:
///   all-gather, reduce-scatter  (n - 1) alpha + (n - 1)/n S beta
///   all-reduce                  twice that (Thakur, Rabenseifner and Gropp 2005, ring)
///   barrier                     2 (n - 1) alpha, an all-reduce of nothing
///   all-to-all                  as all-gather: each rank sends and receives (n - 1)/n S
///   broadcast                   (n - 1) alpha + S beta: a pipelined ring, bandwidth as in
///                               nccl-tests' PERFORMANCE.md (factor 1)
///   send, receive               alpha + S beta
/// Nothing takes time among one rank.
[[nodiscard]] std::int64_t modelledNs(const LinkModel& link, CollectiveOp operation, int ranks,
                                      std::int64_t bytes);

}  // namespace shardscope::theory
