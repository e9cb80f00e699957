// Bytes that may be no UTF-8, as file names may, in text that must be: JSON, tables.
//
// A byte that belongs to no character becomes the private character U+10FE00 + byte. No standard
// assigns those; where a name has one of them nevertheless its bytes are written in the same way,
// so that the way back always gives what was there.
#pragma once

#include <string>
#include <string_view>

namespace shardscope::run {

[[nodiscard]] bool isUtf8(std::string_view bytes);
[[nodiscard]] std::string utf8OfBytes(std::string_view bytes);
[[nodiscard]] std::string bytesOfUtf8(std::string_view text);

}  // namespace shardscope::run
