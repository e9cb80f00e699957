// Text that passes shells unharmed.
#pragma once

#include <string>
#include <string_view>

namespace shardscope::launch {

/// As one word of a POSIX shell's line.
[[nodiscard]] std::string shellWord(std::string_view text);

/// The same as people type it: without quotes where it needs none.
[[nodiscard]] std::string typedWord(std::string_view text);

/// What a login shell of any kind (sh, bash, zsh, csh, tcsh, fish) is to be given so that it
/// becomes /bin/sh with `line`, which holds no line break.
[[nodiscard]] std::string throughLoginShell(std::string_view line);

}  // namespace shardscope::launch
