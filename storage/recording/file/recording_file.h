// The file on disk: made in one move, recognised by its first hundred bytes.
#pragma once

#include "storage/model/recording.h"
#include "storage/model/result.h"
#include "storage/recording/file/writer_lock.h"
#include "storage/sqlite/connection.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::storage {

/// Bytes of a page: while recording, and in small files that are finalised.
inline constexpr std::uint32_t kLargePage = 4096, kSmallPage = 512;

/// Of the row of `meta` that says which process writes, or wrote, the recording.
inline constexpr std::string_view kWriterKey = "writer";

/// A recording that is being written. The connection goes before the lock.
struct RecordingFile {
    WriterLock lock;
    Connection connection;
    std::string path;
};

/// A new recording with all tables and its run row, open in WAL mode. It appears under `path`
/// only when it is whole, so that no moment exists in which it cannot be opened. What may be
/// replaced: output_file.h.
Result<RecordingFile> createRecordingFile(const std::string& path, const RunFacts& run,
                                          bool overwrite,
                                          const std::vector<std::string>& inputs = {});

/// Bytes that a recording must have by its own header, 0 when the header cannot tell. Fails like
/// checkRecordingFile, but not for a file that is shorter.
Result<std::int64_t> claimedFileSize(const std::string& path);

/// Says in words why `path` is no recording of ours, or nothing when it is one.
Result<void> checkRecordingFile(const std::string& path);

// A reading connection to a recording in whatever state its writer left it.

Result<Connection> openReadingConnection(const std::string& path);

}  // namespace shardscope::storage
