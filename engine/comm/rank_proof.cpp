#include "engine/comm/proved_mesh.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

namespace shardscope::comm {
namespace {

/// What the end `from` of a connection to `to` says; the other end's words cannot be given back.
struct Direction {
    const network::Key& key;
    int from = 0, to = 0;
    std::string_view fromNonce, toNonce;

    [[nodiscard]] network::Mac mac(std::string_view purpose) const {
        return network::macOf(
            key, {purpose, std::to_string(from), std::to_string(to), fromNonce, toNonce});
    }
};

constexpr std::string_view kProof = "rank proves", kKey = "key of rank";

}  // namespace

std::vector<PairKeys> proveRanks(const network::Key& key, int rank, int size,
                                 const SwapTexts& swap) {
    const auto ranks = static_cast<std::size_t>(size), own = static_cast<std::size_t>(rank);
    std::vector<std::string> nonces(ranks), proofs(ranks);
    for (std::string& each : nonces) each = network::drawNonce();
    const std::vector<std::string> theirs = swap(nonces);
    const auto out = [&](std::size_t to) {
        return Direction{key, rank, static_cast<int>(to), nonces[to], theirs[to]};
    };
    const auto in = [&](std::size_t from) {
        return Direction{key, static_cast<int>(from), rank, theirs[from], nonces[from]};
    };
    for (std::size_t i = 0; i < ranks; ++i) proofs[i] = network::toHex(out(i).mac(kProof));
    const std::vector<std::string> heard = swap(proofs);
    std::vector<PairKeys> keys(ranks);
    for (std::size_t i = 0; i < ranks; ++i) {
        if (i == own) continue;
        if (!network::equalSecrets(heard[i], network::toHex(in(i).mac(kProof)))) {
            throw CommunicationError(fmt::format(
                "what is connected to rank {} in place of rank {} does not know this run's key: "
                "another program on this network was faster; start the run again, or choose "
                "another network (--interface)",
                rank, i));
        }
        keys[i] = {out(i).mac(kKey), in(i).mac(kKey)};
    }
    return keys;
}

}  // namespace shardscope::comm
