// The address under which this host is reached on a network, and sockets that listen there.
#pragma once

#include "storage/model/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::network {

/// `named`: an interface ("eth0") or one of this host's addresses; empty: loopback. IPv4 first.
/// kUsage, with what there is, when it is neither.
Result<std::string> addressOf(const std::string& named);

/// Of this host, on the way to `address`, which need not answer. kLaunch when there is no way.
Result<std::string> addressTowards(const std::string& address);

/// The name of the interface that has `address`; nothing when none that is up does.
[[nodiscard]] std::optional<std::string> interfaceOf(const std::string& address);

/// Of all interfaces that are up, loopback too; IPv4 first.
[[nodiscard]] std::vector<std::string> ownAddresses();

/// A socket that listens on a free port of `address`; no other process can take the port in
/// between.
struct Listener {
    int fd = -1;  ///< the caller's to close
    int port = 0;
};
Result<Listener> listenOn(const std::string& address);

/// A socket of this process that listens for connections. The number alone does not name it:
/// another thread may close one, whose number the next that is opened then has.
struct OwnListener {
    int fd = -1;  ///< not the caller's to close
    std::uint64_t inode = 0;
    bool operator==(const OwnListener&) const = default;
};
[[nodiscard]] std::vector<OwnListener> ownListeners();
/// Those that were not there before.
[[nodiscard]] std::vector<int> listenersSince(const std::vector<OwnListener>& before);

/// From now on the kernel drops whatever comes to `listener` from outside; connections that it has
/// given stay. For a listener that belongs to others, who cannot do without it. False: the kernel
/// does not do that.
bool dropAllThatComes(int listener);

}  // namespace shardscope::network
