// What an agent of a recorder on another host leaves of itself while it lives, so that the next
// agent of this user on the host can end one that hangs: stopped, or stuck in the kernel, it cannot
// keep its lease by itself.
//
// The agent holds a lock on its file as long as it lives, by which the kernel tells its process
// number: no other process can be taken for it. The file's time is when it last heard of its
// recorder, its content the lease in seconds.
#pragma once

#include "storage/model/file_descriptor.h"
#include "storage/model/result.h"

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace shardscope::launch {

class AgentFile {
public:
    /// In a folder of this user's on this host.
    static Result<AgentFile> make(const std::string& folder, std::chrono::seconds lease);
    AgentFile(AgentFile&& other) noexcept;
    AgentFile& operator=(AgentFile&&) = delete;
    ~AgentFile();

    void setLease(std::chrono::seconds lease);
    /// It was heard of the recorder.
    void touch();

private:
    AgentFile(std::string path, FileDescriptor file)
        : m_path(std::move(path)), m_file(std::move(file)) {}

    std::string m_path;
    FileDescriptor m_file;
};

/// Ends agents whose recorder was not heard of for twice their lease, and removes the files of
/// those that are gone. Their process numbers; ranks end with their agent. Before this process
/// makes a file of its own.
std::vector<pid_t> endStaleAgents(const std::string& folder);

// A folder of this user's alone, on this host and until it is started anew: for sockets, and for
// what processes leave there of themselves.

/// $XDG_RUNTIME_DIR/shardscope where that variable names a folder of this user's, else
/// /tmp/shardscope-UID. Need not be there.
[[nodiscard]] std::string userFolder();

/// Makes it where it is missing, or a folder below it; no other user may have prepared it
/// (kFailure).
Result<std::string> makeUserFolder(const std::string& below = {});

}  // namespace shardscope::launch
