// The product's name, version and commit, as written into recordings and handshakes.
#pragma once

#include <string>

namespace shardscope::cli {

/// "shardscope 0.1.0 (1a2b3c4d5e6f)"
[[nodiscard]] std::string productVersion();

}  // namespace shardscope::cli
