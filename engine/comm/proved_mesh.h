// What two ranks prove to each other over the connection between them, and what follows from it.
#pragma once

#include "engine/comm/mesh.h"
#include "engine/network/keyed_hash.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shardscope::comm {

/// Of the connection with one other rank, and of this run: of what is sent and what is received.
struct PairKeys {
    network::Key out{}, in{};
};

/// Gives each other rank its text and returns what each of them gave, by rank; all are equally
/// long, and those of the own rank are left out.
using SwapTexts = std::function<std::vector<std::string>(const std::vector<std::string>& byRank)>;

/// Both ends of each connection prove the run's key to each other, by an HMAC over a nonce of each
/// and over who they are. Throws CommunicationError, which names the rank, where a stranger is.
std::vector<PairKeys> proveRanks(const network::Key& key, int rank, int size,
                                 const SwapTexts& swap);

/// The same messages, each encrypted and authenticated (AES-256-GCM) by keys of its direction, and
/// numbered by its tag: what was changed, repeated, left out, moved or given back is
/// TransferError::Kind::kAltered. The mesh outlives its transfers; each holds a copy of its
/// message.
[[nodiscard]] std::shared_ptr<Mesh> encrypted(std::shared_ptr<Mesh> mesh,
                                              const std::vector<PairKeys>& keys);

}  // namespace shardscope::comm
