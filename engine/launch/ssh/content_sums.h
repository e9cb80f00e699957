// SHA-256 of files, remembered as long as they stay as they are.
#pragma once

#include "storage/model/result.h"

#include <string>
#include <vector>

namespace shardscope::launch {

/// In hexadecimal, in the order of `paths`. `memory` is a file of what was computed before, by
/// path, size and time of the last change; it is rewritten when something new was computed. Empty:
/// nothing is remembered.
Result<std::vector<std::string>> contentSums(const std::vector<std::string>& paths,
                                             const std::string& memory);

/// Of this user's cache folder; empty where there is none.
[[nodiscard]] std::string contentSumsMemory();

/// Of a text.
Result<std::string> contentSum(const std::string& text);

}  // namespace shardscope::launch
