// Where bytes are UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF).
#pragma once

#include <cstddef>
#include <string_view>

namespace shardscope::tokens {

/// Length of the longest valid UTF-8 at the front of `bytes`.
[[nodiscard]] std::size_t validUtf8(std::string_view bytes);

}  // namespace shardscope::tokens
