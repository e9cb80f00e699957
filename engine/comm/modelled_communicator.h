// A communicator as if its ranks were joined by another link: every operation moves the same bytes
// and takes at least what the ring formula says, so that one host can show what a network would do.
//
// Each communicator is a link of its own, on which operations take turns: one begins when all
// ranks have arrived and the one before is through, and ends no earlier than its formula later.
// The rest of the time its thread sleeps; the CPU is the caller's. The bytes themselves move as
// soon as they can. Reports say "modelled" (algorithm) and which link (protocol); start and
// arrivals are when the operation came to the link, end is when the link is done.
#pragma once

#include "engine/comm/communicator.h"

#include <cstdint>
#include <memory>

namespace shardscope::comm {

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

/// On top of a communicator of CPU ranks that was made without an observer. `observer` may be
/// null; it outlives the communicator, whose reports name the link by a string of its own.
std::unique_ptr<Communicator> makeModelledCommunicator(std::unique_ptr<Communicator> inner,
                                                       const LinkModel& link,
                                                       control::Observer* observer);

}  // namespace shardscope::comm
