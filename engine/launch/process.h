// Starting and reaping child processes.
//
// spawn() must be called from the process's main thread: PR_SET_PDEATHSIG fires when the
// thread that forked ends. The calling process should have no other threads.
#pragma once

#include "storage/model/file_descriptor.h"
#include "storage/model/result.h"

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::launch {

struct SpawnRequest {
    std::string program;
    std::vector<std::string> arguments;              ///< after argv[0]
    std::map<std::string, std::string> environment;  ///< added to ours
    /// {ours, the child's number}; everything else that is close-on-exec is closed.
    std::vector<std::pair<int, int>> descriptors;
    bool ownGroup = false;       ///< leads a new process group
    bool dieWithParent = false;  ///< SIGKILL when we end
    /// As a shell starts it: from PATH where it has no slash, and text without #! as a script.
    bool searchPath = false;
    std::vector<int> resetSignals{};  ///< that we ignore, and the program shall not
};

/// Where the program is that a shell would start; empty: nowhere.
[[nodiscard]] std::string programPath(const std::string& program);

/// An error (kLaunch) also when the program cannot be executed.
Result<pid_t> spawn(const SpawnRequest& request);

struct ProcessEnd {
    std::optional<std::int32_t> code;
    std::optional<std::int32_t> signal;
    double processorSeconds = 0;  ///< that it used, with its children that it waited for
};

/// How a child of ours ended; nullopt while it runs.
[[nodiscard]] std::optional<ProcessEnd> reap(pid_t pid);

/// By a signal (SIGSTOP, Ctrl-Z), a debugger or the freezer: it may go on at any time.
[[nodiscard]] bool isStopped(pid_t pid);

/// Two connected stream sockets, both close-on-exec.
Result<std::pair<FileDescriptor, FileDescriptor>> socketPair();

/// Path of the running program; empty when unknown.
[[nodiscard]] std::string ownProgram();

/// The last line of `text` that is not empty: what a process said last.
[[nodiscard]] std::string lastLineOf(const std::string& text);

/// "signal 9 (Killed)"
[[nodiscard]] std::string signalText(int signal);

}  // namespace shardscope::launch
