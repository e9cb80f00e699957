// Files that a user names to be read: a named pipe that no program writes to would be waited for
// without end.
#pragma once

#include "storage/model/result.h"

#include <chrono>
#include <string>

namespace shardscope {

inline constexpr std::chrono::seconds kPipePatience{10};

/// All of a file, or of a pipe that a program writes to, which is waited for at most `patience`;
/// then until its end, or an interruption (kCancelled). Errors are
/// sentences that begin with `path`: "PATH cannot be read: Is a directory" (kUnreadable).
Result<std::string> readInput(const std::string& path,
                              std::chrono::seconds patience = kPipePatience);

/// Of a named pipe that is open for reading: whether a program has it open for writing, or has left
/// bytes in it.
[[nodiscard]] bool hasWriter(int pipe);
/// Of one that had none for `patience`: what is wrong and what to do.
[[nodiscard]] std::string withoutWriter(const std::string& path, std::chrono::seconds patience);

/// Opens a file that has to be a regular one, never waiting. -1, and errno says why: EISDIR, or
/// ESPIPE of what is no regular file.
[[nodiscard]] int openRegularFile(const std::string& path);
/// For what openRegularFile() failed with: "it is a pipe or a device; give a file".
[[nodiscard]] std::string inputTrouble(int error);

/// What changes whenever the file is written, or another takes its place, whatever its date and
/// size are set to; empty: it is no file, or has a log (SQLite's) that is not in it yet.
[[nodiscard]] std::string fileState(const std::string& path);

}  // namespace shardscope
