// Text as words of a shell's line: in commands that are said, and in those that are run.
#pragma once

#include <string>
#include <string_view>

namespace shardscope {

/// As one word of a POSIX shell's line.
[[nodiscard]] std::string shellWord(std::string_view text);

/// The same as people type it: without quotes where it needs none, and in $'...' of bash, zsh and
/// others where it holds what is no plainCharacter(), so that it is one line of text.
[[nodiscard]] std::string typedWord(std::string_view text);

}  // namespace shardscope
