// The words of a command that stands in one text, as `ssh -F 'my config'`.
#pragma once

#include "storage/model/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope::run {

/// Blanks are between words but within quotes, single or double, and after a backslash, as sh has
/// it; nothing is expanded. kUsage: a quote without its end, no word at all.
[[nodiscard]] Result<std::vector<std::string>> commandWords(std::string_view text);

}  // namespace shardscope::run
