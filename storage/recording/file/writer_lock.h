// Held by the one process that writes a recording, from before its file has its name until it is
// closed. The kernel lets go of it however the process ends.
//
// It is a lock of an open file (F_OFD_SETLK) on a byte behind those that SQLite locks: neither
// disturbs the other, and no sidecar file is left behind. Where a file system knows no such locks
// there is none, and nothing is refused because of it.
#pragma once

#include "storage/model/file_descriptor.h"
#include "storage/model/result.h"

#include <chrono>
#include <string>
#include <utility>

namespace shardscope::storage {

class WriterLock {
public:
    /// Of a file that is there. Letting it go drops the locks that SQLite holds on the same file
    /// in this process: the connection must be closed before. kUsage when another process has it.
    static Result<WriterLock> take(const std::string& path);

    /// Whether `path` still names the file that is locked.
    [[nodiscard]] bool isAt(const std::string& path) const;

private:
    explicit WriterLock(FileDescriptor file) : m_file(std::move(file)) {}
    FileDescriptor m_file;
};

/// Held while a file gets its name: of all processes that place one in a folder, one does so at a
/// time. Any process that can read the folder may hold its lock, stopped or on purpose, so nothing
/// is refused because of it: it is waited for so long and then done without, as where a file system
/// knows no such locks.
class PlacingLock {
public:
    /// Of the folder that holds `path`.
    explicit PlacingLock(const std::string& path,
                         std::chrono::milliseconds patience = std::chrono::seconds(2));
    [[nodiscard]] bool isHeld() const { return m_folder.valid(); }

private:
    FileDescriptor m_folder;
};

/// Tells whether some process writes a recording, also while this process reads it: made before the
/// recording is opened, gone after it was closed (see WriterLock::take()). Any thread.
class WriterWatch {
public:
    explicit WriterWatch(const std::string& path);

    [[nodiscard]] bool isBeingWritten() const;

private:
    FileDescriptor m_file;
};

/// Whether some process writes the recording `path` at this moment. Not to be asked by a process
/// that has the recording open itself.
[[nodiscard]] bool isBeingWritten(const std::string& path);

}  // namespace shardscope::storage
