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

/// A recording, and whether some process was writing it when it was opened.
struct OpenedRecording {
    std::unique_ptr<storage::RecordingReader> reader;
    bool beingWritten = false;

    /// It may have been finalised since.
    [[nodiscard]] bool isRunning(bool finalised) const { return beingWritten && !finalised; }
    storage::RecordingReader& operator*() const { return *reader; }
    storage::RecordingReader* operator->() const { return reader.get(); }
};

/// Errors as of openRecording(); of an address also kUsage and kLaunch. On a terminal it reports
/// how far a connection is.
Result<OpenedRecording> openAnyRecording(const RecordingPlace& place);

/// kUsage for what needs the file itself, with how to have it here: `what` is its verb and flags,
/// `more` what comes after the file's name.
Result<void> requireFile(const RecordingPlace& place, const std::string& what,
                         const std::string& more = "");

/// Reports why the recording cannot be read, with what helps from here; the exit status.
int tellFailure(const RecordingPlace& place, const Error& error);

}  // namespace shardscope::cli
