// Connections between the tasks of a run: TCP between hosts, a socket file in a folder of the
// user's where all tasks are on one host.
//
// One thread. A TaskLine never waits; the kernel notices a host that is gone within kTaskLease.
#pragma once

#include "engine/launch/tasks/task_environment.h"
#include "engine/launch/tasks/task_handshake.h"
#include "engine/launch/tasks/task_secret.h"
#include "engine/network/keyed_hash.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/result.h"

#include <chrono>
#include <optional>
#include <string>
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
    /// The next line, without its end and tag. The end of the stream, a line that is too long, or
    /// one whose tag does not fit closes.
    std::optional<std::string> take();
    /// Without its end. So little fits at once. What cannot be sent closes.
    void send(const std::string& line);
    /// Lines have tags from now on.
    void seal(const network::SealPair& seals) { m_seals = seals; }
    void close() { m_socket.reset(); }
    /// For frames.
    FileDescriptor release() { return std::move(m_socket); }

private:
    std::optional<std::string> takeLine();

    FileDescriptor m_socket;
    std::string m_partial;
    std::optional<network::SealPair> m_seals;
};

/// What rank 0's task listens on. A socket file goes with it.
class TaskListeners {
public:
    TaskListeners() = default;
    TaskListeners(TaskListeners&& other) noexcept;
    TaskListeners& operator=(TaskListeners&& other) noexcept;
    ~TaskListeners() { close(); }

    void close();
    [[nodiscard]] const std::vector<FileDescriptor>& all() const { return m_all; }

private:
    friend Result<TaskListeners> listenForTasks(const TaskPlace& place, const TaskSecret& secret,
                                                const std::string& interface);
    std::vector<FileDescriptor> m_all;
    std::string m_file;  ///< empty: none
};

/// Sockets that listen where tasks of other hosts look for rank 0's: at `interface` if there is
/// one, else at the addresses of this host that TaskPlace::address means, and no others. kLaunch
/// when that is none of this host's or the port is taken.
Result<TaskListeners> listenForTasks(const TaskPlace& place, const TaskSecret& secret,
                                     const std::string& interface);
/// The next connection that waits there; invalid: none does.
[[nodiscard]] FileDescriptor acceptTask(int listener);
/// The other end's address, of IPv6 its /64, of which one host may have all; empty: within the
/// host.
[[nodiscard]] std::string peerNetworkOf(int fd);

/// A connection to rank 0's task; waits for it for `patience` at most.
Result<FileDescriptor> connectToFirst(const TaskPlace& place, const TaskSecret& secret,
                                      std::chrono::milliseconds patience);

/// This host's address of a connection; empty: of one within the host.
[[nodiscard]] std::string ownAddressOf(int fd);

}  // namespace shardscope::launch
