// Connections between the tasks of a run: TCP between hosts, a local socket where all tasks are on
// one host.
//
// One thread. A TaskLine never waits; the kernel notices a host that is gone within kTaskLease.
#pragma once

#include "engine/launch/file_descriptor.h"
#include "engine/launch/tasks/task_environment.h"
#include "engine/launch/tasks/task_words.h"
#include "storage/model/result.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::launch {

inline constexpr std::chrono::seconds kTaskLease{15};

/// Lines over a socket; takes in no byte behind the line that it gives.
class TaskLine {
public:
    TaskLine() = default;
    explicit TaskLine(FileDescriptor socket);

    [[nodiscard]] int fd() const { return m_socket.get(); }
    [[nodiscard]] bool isOpen() const { return m_socket.valid(); }
    /// The next line, without its end. The end of the stream, or a line that is too long, closes.
    std::optional<std::string> take();
    /// So little fits at once. What cannot be sent closes.
    void send(const std::string& line);
    void close() { m_socket.reset(); }
    /// For frames.
    FileDescriptor release() { return std::move(m_socket); }

private:
    FileDescriptor m_socket;
    std::string m_partial;
};

/// Sockets that listen where tasks of other hosts look for rank 0's: at `interface` if there is
/// one, else at the addresses of this host that TaskPlace::address means, and no others. kLaunch
/// when that is none of this host's or the port is taken.
Result<std::vector<FileDescriptor>> listenForTasks(const TaskPlace& place, const TaskSecret& secret,
                                                   const std::string& interface);
/// Of those that listen; nothing: nobody is there.
[[nodiscard]] FileDescriptor acceptTask(int listener);

/// A connection to rank 0's task; waits for it for `patience` at most.
Result<FileDescriptor> connectToFirst(const TaskPlace& place, const TaskSecret& secret,
                                      std::chrono::milliseconds patience);

/// This host's address of a connection; empty: of one within the host.
[[nodiscard]] std::string ownAddressOf(int fd);

}  // namespace shardscope::launch
