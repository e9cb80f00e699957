// How ranks meet before Gloo connects them, and what they go on sharing through the table that they
// have met at.
#pragma once

#include "engine/comm/gloo/gloo_communicator.h"
#include "engine/network/keyed_table.h"

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <memory>
#include <string>

namespace c10d {
class Store;
}

namespace shardscope::comm {

using RankTable = std::shared_ptr<network::KeyedTable>;

/// Of ranks that share a host: which port of rank 0's at `address`, and a key that it draws. Rank 0
/// listens before the others hear of it. Throws CommunicationError.
[[nodiscard]] WorldMeeting agreeOnMeeting(Communicator& host, const std::string& address);

/// Blocks until rank 0 is reached. Throws std::runtime_error.
[[nodiscard]] RankTable meetAt(const WorldMeeting& meeting, std::chrono::milliseconds timeout);

/// The table as LibTorch takes it, as far as Gloo asks for it while it connects.
[[nodiscard]] c10::intrusive_ptr<c10d::Store> storeOf(RankTable table,
                                                      std::chrono::milliseconds timeout);

/// The rank that `rank` waits for, for the others to read. One that is cut off cannot say it.
void tellWait(const RankTable& table, int rank, int waitsFor);

/// What the first of all ranks that give up says: `own`, unless another was first or cannot be
/// asked, gives up with the sentence `why`, for `late` or whom that one waits for in the end.
/// Returns after some seconds at most; a thread that may outlive the call asks.
[[nodiscard]] std::string firstWords(const RankTable& table, const std::string& why, int own,
                                     int late);

}  // namespace shardscope::comm
