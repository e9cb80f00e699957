// The communicator of ranks that share memory: processes of one host or threads of one process.
//
// Each rank reads its peers' inputs where they lie, so every byte is copied once and no
// socket is involved. Ranks meet through futex words in the segment: a rank announces that its
// input is ready (arrival), waits for all arrivals, moves its data, then announces that it is
// done reading. Being in order, arriving at collective k says that k-1 is finished.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/comm/segment.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

namespace shardscope::comm {

/// Starts the communication thread. `observer` may be null and outlives the communicator;
/// `protocol` ("shared memory", "threads") is a static string for the reports; `timeout` is how
/// long a peer may keep this rank waiting before it counts as hung.
std::unique_ptr<Communicator> makeDirectCommunicator(
    std::shared_ptr<Segment> segment, int rank, control::Observer* observer, const char* protocol,
    std::chrono::milliseconds timeout = std::chrono::seconds(60));

/// Where every rank's `buffer` lies, by rank, which all allocated alike from `direct`: made above.
[[nodiscard]] std::vector<std::byte*> everyRanks(const Communicator& direct,
                                                 const SymmetricBuffer& buffer);

}  // namespace shardscope::comm
