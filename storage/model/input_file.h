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

/// Opens a file that has to be a regular one, never waiting. -1, and errno says why: EISDIR, or
/// ESPIPE of what is no regular file.
[[nodiscard]] int openRegularFile(const std::string& path);
/// For what openRegularFile() failed with: "it is a pipe or a device; give a file".
[[nodiscard]] std::string inputTrouble(int error);

}  // namespace shardscope
