// The text that a run trains on: its place, and whether it can be text at all.
#pragma once

#include "storage/model/result.h"

#include <string>

namespace shardscope::cli {

/// Absolute path of `given`. Missing, empty or binary data is an error (kUnreadable) before
/// anything is started or written.
Result<std::string> checkedData(const std::string& given);

/// Folder of Shardscope's own sources: found above the program, or where it was built from.
/// An error (kUsage) asks for --data.
Result<std::string> ownSourceTree();

}  // namespace shardscope::cli
