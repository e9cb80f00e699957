// The recording that a verb was given: a file, or "ssh://[user@]host[:port]/path" where it lies.
#pragma once

#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

#include <memory>
#include <string>

namespace shardscope::cli {

struct RecordingPlace {
    std::string path;        ///< or address
    std::string sshCommand;  ///< of an address; empty: ssh
};

/// Errors as of openRecording(); of an address also kUsage and kLaunch. On a terminal it tells how
/// far a connection is.
Result<std::unique_ptr<storage::RecordingReader>> openAnyRecording(const RecordingPlace& place);

/// kUsage for what needs the file itself: "`what` ...".
Result<void> requireFile(const RecordingPlace& place, const std::string& what);

}  // namespace shardscope::cli
