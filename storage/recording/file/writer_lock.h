// Held by the one process that writes a recording, from before its file has its name until it is
// closed. The kernel lets go of it however the process ends.
//
// It is a lock of an open file (F_OFD_SETLK) on a byte behind those that SQLite locks: neither
// disturbs the other, and no sidecar file is left behind. Where a file system knows no such locks
// there is none, and nothing is refused because of it.
#pragma once

#include "storage/model/result.h"

#include <string>

namespace shardscope::storage {

class WriterLock {
public:
    /// Of a file that is there. kUsage when another process has it.
    static Result<WriterLock> take(const std::string& path);
    WriterLock(WriterLock&& other) noexcept;
    WriterLock& operator=(WriterLock&& other) noexcept;
    /// Closing the descriptor drops the locks that SQLite holds on the same file in this process:
    /// the connection must be closed before.
    ~WriterLock();

    /// Whether `path` still names the file that is locked.
    [[nodiscard]] bool isAt(const std::string& path) const;

private:
    explicit WriterLock(int descriptor) : m_descriptor(descriptor) {}
    int m_descriptor = -1;
};

/// Tells whether some process writes a recording, also while this process reads it: made before the
/// recording is opened, gone after it was closed (see ~WriterLock). Any thread.
class WriterWatch {
public:
    explicit WriterWatch(const std::string& path);
    WriterWatch(const WriterWatch&) = delete;
    WriterWatch& operator=(const WriterWatch&) = delete;
    ~WriterWatch();

    [[nodiscard]] bool isBeingWritten() const;

private:
    int m_descriptor;
};

/// Whether some process writes the recording `path` at this moment. Not to be asked by a process
/// that has the recording open itself.
[[nodiscard]] bool isBeingWritten(const std::string& path);

}  // namespace shardscope::storage
