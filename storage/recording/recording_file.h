// The file on disk: made in one move, recognised by its first hundred bytes.
#pragma once

#include "storage/model/recording.h"
#include "storage/model/result.h"
#include "storage/sqlite/connection.h"

#include <string>

namespace shardscope::storage {

/// A new recording with all tables and its run row, open in WAL mode. It appears under `path`
/// only when it is whole, so that no moment exists in which it cannot be opened.
Result<Connection> createRecordingFile(const std::string& path, const RunFacts& run,
                                       bool overwrite);

/// Bytes that a recording must have by its own header, 0 when the header cannot tell. Fails like
/// checkRecordingFile, but not for a file that is shorter.
Result<std::int64_t> claimedFileSize(const std::string& path);

/// Says in words why `path` is no recording of ours, or nothing when it is one.
Result<void> checkRecordingFile(const std::string& path);

}  // namespace shardscope::storage
