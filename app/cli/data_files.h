// The files of a run's data: their names and contents, as hosts compare and are sent them.
#pragma once

#include "engine/launch/ssh/payload.h"
#include "engine/run/protocol/messages.h"
#include "storage/model/result.h"

#include <string>

namespace shardscope::cli {

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
