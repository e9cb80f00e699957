// A child whose three standard streams are pipes of ours.
//
// Leads a process group and dies with us; see spawn() for the thread to start it from.
#pragma once

#include "engine/launch/process.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/result.h"

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::launch {

class ChildProcess {
public:
    /// `words` are a program, looked for in PATH where it has no slash, and its arguments.
    static Result<ChildProcess> start(const std::vector<std::string>& words);
    ChildProcess(ChildProcess&& other) noexcept;
    ChildProcess& operator=(ChildProcess&& other) noexcept;
    /// Kills the group if the child still runs.
    ~ChildProcess();

    // Our ends, non-blocking; code that needs one longer moves it out.
    FileDescriptor input;   ///< what it reads
    FileDescriptor output;  ///< what it writes to standard output
    FileDescriptor errors;  ///< and to standard error

    [[nodiscard]] pid_t pid() const { return m_pid; }
    /// How it ended; nothing while it runs.
    const std::optional<ProcessEnd>& end();
    /// Asks it to end, waits for at most `grace`, then kills its group.
    void stop(int signal, std::chrono::milliseconds grace);

private:
    explicit ChildProcess(pid_t pid) : m_pid(pid) {}

    pid_t m_pid = -1;
    std::optional<ProcessEnd> m_end;
};

/// Appends what is there to be read, up to `most` bytes, and closes `fd` at its end.
void readAvailable(FileDescriptor& fd, std::string& text, std::size_t most);

/// What a program that reads `input` and ends soon writes to standard output; waits for it. Not to
/// end with status 0 is an error with its last words.
Result<std::string> outputOf(const std::vector<std::string>& words, const std::string& input = {});

/// Its path by PATH; empty: there is none.
[[nodiscard]] std::string findProgram(const std::string& name);

}  // namespace shardscope::launch
