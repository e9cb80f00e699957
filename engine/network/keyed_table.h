// Texts by name that the ranks of a run share: rank 0 keeps them, the others reach it over TCP.
//
// It listens where ranks meet, only to those that prove the run's key (keyed_handshake.h), and to
// none any more once all ranks are there. Every message is tagged, none is encrypted.
#pragma once

#include "engine/network/keyed_hash.h"
#include "engine/network/network_interface.h"
#include "storage/model/result.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace shardscope::network {

class KeyedTable {
public:
    /// Rank 0's: keeps the texts, on a thread of its own, until it is destroyed. `listener` is
    /// closed once `ranks` ranks are there, or then.
    static Result<std::unique_ptr<KeyedTable>> serve(Listener listener, const Key& key, int ranks);
    /// Of another rank. Blocks for `patience` at most; kLaunch: rank 0 is not reached, or what
    /// answers does not know the key.
    static Result<std::unique_ptr<KeyedTable>> join(const std::string& address, int port,
                                                    const Key& key, int rank,
                                                    std::chrono::milliseconds patience);
    virtual ~KeyedTable() = default;

    // Any thread; calls wait for each other. kLaunch: rank 0 is gone, or has not answered for
    // kAnswerPatience, after which nothing more is asked of it.

    virtual Result<void> set(const std::string& name, const std::string& value) = 0;
    /// Waits for it for `patience`; nothing: it is not there.
    virtual Result<std::optional<std::string>> get(const std::string& name,
                                                   std::chrono::milliseconds patience) = 0;
    /// Unless there is one already; what is there then.
    virtual Result<std::string> setFirst(const std::string& name, const std::string& value) = 0;

    static constexpr std::chrono::seconds kAnswerPatience{5};
};

}  // namespace shardscope::network
