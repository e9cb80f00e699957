// "ssh://[user@]host[:port]/path": where a recording lies that is read where it lies.
#pragma once

#include "storage/model/result.h"

#include <string>
#include <string_view>

namespace shardscope::storage::remote {

struct RemoteAddress {
    std::string target;  ///< as ssh takes it: "[user@]host", or "ssh://[user@]host:port"
    std::string path;    ///< absolute, or "~/..." of the home there; taken as it stands
};

/// Whether it is meant as an address rather than as a file of this machine.
[[nodiscard]] bool isRemote(std::string_view text);

/// kUsage: it is no such address. "ssh://host/~/x" is "~/x", "ssh://host" the home.
Result<RemoteAddress> parseAddress(std::string_view text);

}  // namespace shardscope::storage::remote
