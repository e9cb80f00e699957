// Text as words of a shell's line: in commands that are said, and in those that are run.
#pragma once

#include <string>
#include <string_view>

namespace shardscope {

/// As one word of a POSIX shell's line.
[[nodiscard]] std::string shellWord(std::string_view text);

/// The same as people type it: without quotes where it needs none.
[[nodiscard]] std::string typedWord(std::string_view text);

}  // namespace shardscope
