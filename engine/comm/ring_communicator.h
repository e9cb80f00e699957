// The communicator of ranks that are joined by a network: a ring over a mesh of messages.
//
// Before any data moves, every rank tells every other what it asks for and when it arrived: ranks
// that do not fit together are named before a size can be wrong, and all know when the last was
// there. Then (Patarasuk and Yuan 2009, n ranks, S bytes):
//   all-gather, reduce-scatter  n - 1 steps of S/n to the right-hand neighbour; fp32 sums
//   all-reduce                  both
//   broadcast                   from neighbour to neighbour, in pieces
//   all-to-all                  to each rank directly
// Sums of bf16 and fp16 are taken where they are kept, in fp32 and in rank order: every rank sends
// each part to its owner, which is as many bytes as the ring's and rounds once ("exchange").
//
// Sums need memory, which grows in the first step and is reported as communication buffers, for
// each communicator split off anew. For the largest row of S bytes that was summed:
//   fp32        twice S/n, once where n is 2, rounded up to whole elements: what comes and what
//               goes on
//   bf16, fp16  n times this rank's part, about S: a row of each rank
#pragma once

#include "engine/comm/communicator.h"
#include "engine/comm/mesh.h"

#include <chrono>
#include <memory>

namespace shardscope::comm {

struct RingSetup {
    std::shared_ptr<Mesh> mesh;
    // Both may be null and outlive the communicator.
    control::Observer* observer = nullptr;  ///< hears of collectives
    control::Observer* memory = nullptr;    ///< hears of the communicator's own buffers
    const char* protocol = "";              ///< static string for the reports
    std::chrono::milliseconds timeout{60'000};
    /// Whether ranks read one clock, as those of one host do: arrivals are reported then.
    bool sharedClock = true;
};

/// Starts the communication thread.
std::unique_ptr<Communicator> makeRingCommunicator(const RingSetup& setup);

}  // namespace shardscope::comm
