// What a run trains on: its place, whether it can be trained on at all, and its files as hosts
// compare and are sent them.
#pragma once

#include "engine/launch/ssh/payload.h"
#include "engine/run/config/run_config.h"
#include "engine/run/protocol/messages.h"
#include "storage/model/result.h"

#include <string>

namespace shardscope::cli {

/// Makes the paths of the data and the tokenizer absolute. What is missing, empty, damaged, too
/// short for the context or of another vocabulary is an error (kUnreadable, kUsage) before
/// anything is started or written; texts are only looked into.
Result<void> settleData(run::RunConfig& config);

/// The path from the root on, empty for an empty one: ranks run in separate folders. An error
/// (kUsage) where the current folder is gone.
Result<std::string> wholePath(const std::string& path);

/// Folder of Shardscope's own sources: found above the program, or where it was built from.
/// An error (kUsage) asks for --data.
Result<std::string> ownSourceTree();

/// What a run reads of `path` (a text or token file, or a folder of them). Errors are kUnreadable.
Result<launch::PackageNames> dataFiles(const std::string& path);

/// Checksum over contents and, of a folder, names below it; SHA-256 of files is remembered in this
/// user's cache folder. That it cannot be had is said in the answer.
run::DataChecked sumOfData(const std::string& path);

/// What is sent to hosts, named for its contents. Errors are kUnreadable, or kUsage where a name is
/// too long to be sent.
Result<launch::Package> dataPackage(const std::string& path);
/// Where the data lies in that package, below its folder.
[[nodiscard]] std::string placeInPackage(const std::string& path);

}  // namespace shardscope::cli
