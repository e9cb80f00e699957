// The hosts of a run as a table of a TOML run file, another way to write what parseHosts() takes:
//
//   [hosts]
//   node-a = { slots = 4, interface = "eth1", devices = [0, 1], environment = { NCCL_DEBUG = "INFO"
//   } } "me@node-b" = { slots = 2, folder = "/scratch/me", data = "/data/corpus" }
#pragma once

#include "storage/model/result.h"

#include <toml++/toml.h>

#include <string>
#include <string_view>

namespace shardscope::run {

/// What is wrong in a table, and where.
struct HostTableComplaint {
    toml::source_region where;
    std::string what;
};

/// RunConfig::hosts, hosts in the order in which they are written.
[[nodiscard]] tl::expected<std::string, HostTableComplaint> readHostTable(const toml::table& table);

/// The table, with its heading, of hosts of which there is more to say than names and slots; empty:
/// there is not, and a text says it all.
[[nodiscard]] std::string hostTableOf(std::string_view hosts);

/// A text as TOML quotes it.
[[nodiscard]] std::string tomlText(std::string_view text);

}  // namespace shardscope::run
