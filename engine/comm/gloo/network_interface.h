// The address under which this host is reached on a network that the user names.
#pragma once

#include "storage/model/result.h"

#include <string>

namespace shardscope::comm {

/// `named`: an interface ("eth0") or one of this host's addresses; empty: loopback. IPv4 first.
/// kUsage, with what there is, when it is neither.
Result<std::string> addressOf(const std::string& named);

/// A socket that listens on a free port of `address`; nobody can take the port in between.
struct Listener {
    int fd = -1;  ///< the caller's to close
    int port = 0;
};
Result<Listener> listenOn(const std::string& address);

}  // namespace shardscope::comm
