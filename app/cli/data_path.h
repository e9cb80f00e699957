// What a run trains on: its place, and whether it can be trained on at all.
#pragma once

#include "engine/run/config/run_config.h"
#include "storage/model/result.h"

#include <string>

namespace shardscope::cli {

/// Makes the paths of the data and the tokenizer absolute. What is missing, empty, damaged, too
/// short for the context or of another vocabulary is an error (kUnreadable, kUsage) before
/// anything is started or written; texts are only looked into.
Result<void> settleData(run::RunConfig& config);

/// The path from the root on, empty for an empty one: ranks run in folders of their own. An error
/// (kUsage) where the current folder is gone.
Result<std::string> wholePath(const std::string& path);

/// Folder of Shardscope's own sources: found above the program, or where it was built from.
/// An error (kUsage) asks for --data.
Result<std::string> ownSourceTree();

}  // namespace shardscope::cli
