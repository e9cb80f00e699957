// Text that passes shells unharmed.
#pragma once

#include "storage/model/shell_word.h"

#include <string>
#include <string_view>

namespace shardscope::launch {

using shardscope::shellWord;
using shardscope::typedWord;

/// What a login shell of any kind (sh, bash, zsh, csh, tcsh, fish) is to be given so that it
/// becomes /bin/sh with `line`, which holds no line break.
[[nodiscard]] std::string throughLoginShell(std::string_view line);

}  // namespace shardscope::launch
