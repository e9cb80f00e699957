// Files that a user names to be read: a named pipe that no program writes to would be waited for
// without end.
#pragma once

#include "storage/model/result.h"

#include <chrono>
#include <string>
#include <utility>

namespace shardscope {

/// Keeps a pipe's writer from losing its reader until the pipe has been opened by other means.
class InputHold {
public:
    static constexpr std::chrono::seconds kPatience{10};
    /// Of a pipe waits for a writer, `patience` at most (kUnreadable, a sentence); of anything
    /// else, of what is not there too, nothing.
    static Result<InputHold> of(const std::string& path, std::chrono::seconds patience = kPatience);
    InputHold(InputHold&& other) noexcept : m_descriptor(std::exchange(other.m_descriptor, -1)) {}
    InputHold& operator=(InputHold&&) = delete;
    ~InputHold();

private:
    explicit InputHold(int descriptor) : m_descriptor(descriptor) {}
    int m_descriptor;
};

/// Opens a file that has to be a regular one, never waiting. -1, and errno says why: EISDIR, or
/// ESPIPE of what is no regular file.
[[nodiscard]] int openRegularFile(const std::string& path);
/// For what openRegularFile() failed with: "it is a pipe or a device; give a file".
[[nodiscard]] std::string inputTrouble(int error);

}  // namespace shardscope
