// The communicator of CPU ranks on several hosts, as many on each: shared memory inside a host,
// rings of messages between hosts, one for each place in a host ("rails").
//
// Before any data moves, the ranks of a host meet in shared memory, and each tells its rail what
// they ask for: ranks that do not fit together are named before a size can be wrong. Then, for H
// hosts of L ranks and S bytes, each rank
//   all-gather      sends (H - 1) S/(H L) along its rail, and copies from its host what it lacks
//   reduce-scatter  sums its host's rows for the ranks of its rail, who add theirs and pass it on
//   all-reduce      both
//   broadcast       passes on S/L, and copies from its host what it lacks
//   all-to-all      sends to each rank of another host directly
// so that a host's network carries (H - 1)/H S each way, where one ring of all ranks carries
// (H L - 1)/(H L) S over every connection, inside a host too.
//
// Sums are taken in fp32, the same bits on every rank: those of a host in rank order, then hosts in
// the order of the ring from the one after the host that keeps the sum. This differs from the order
// of ranks on one host. bf16 and fp16 are rounded once, at the end; fp32 travels.
//
// The first rank that gives up is the one that all others name: it tells them why.
//
// Memory, reported as communication buffers: an all-gather into memory of the caller's lays what
// comes from other hosts down for the ranks of its host, 4 MB for each other host and 32 MB at
// most; sums need 8 pieces between two hosts and 12 between more, each of 1 MB or this rank's part.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/comm/mesh.h"
#include "engine/comm/segment.h"

#include <chrono>
#include <memory>

namespace shardscope::comm {

struct HostRingSetup {
    std::shared_ptr<Segment> segment;  ///< of the ranks of this host
    /// Of all ranks; those of a host follow each other, and each host has as many.
    std::shared_ptr<Mesh> mesh;
    // Both may be null and outlive the communicator.
    control::Observer* observer = nullptr;  ///< hears of collectives
    control::Observer* memory = nullptr;    ///< hears of the communicator's own buffers
    const char* protocol = "";              ///< static string for the reports
    std::chrono::milliseconds timeout{60'000};
};

/// Starts the communication thread. Arrivals are reported of groups inside a host: hosts have
/// clocks of their own. Throws CommunicationError.
std::unique_ptr<Communicator> makeHostRingCommunicator(const HostRingSetup& setup);

}  // namespace shardscope::comm
