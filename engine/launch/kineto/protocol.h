// What PyTorch's profiler library (Kineto) asks a daemon for in programs that were started with
// KINETO_USE_DAEMON set, and how it is answered: datagrams on a local socket named "dynolog".
//
// Every byte is another process's. Numbers are little endian, as x86-64 and AArch64 lay them out.
#pragma once

#include "storage/model/file_descriptor.h"
#include "storage/model/result.h"

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::launch::kineto {

/// A process asks for a configuration, about every second or every five.
struct Request {
    bool idle = false;        ///< would take a window now; else one goes on, or another trace does
    std::int64_t job = 0;     ///< of Slurm, or 0
    std::vector<pid_t> pids;  ///< of the process and its ancestors, as it sees them; at least one
};
/// A process says that it uses a GPU.
struct Registration {
    std::int32_t gpu = 0;
    pid_t pid = 0;
};
struct Message {
    std::optional<Request> request;  ///< one of the two is there
    std::optional<Registration> registration;
};

/// No process has more ancestors.
inline constexpr std::size_t kMostPids = 1024;
inline constexpr std::size_t kLargestMessage = 40 + 16 + 4 * kMostPids;

/// kUnreadable: it is no message that we know, and no answer is due.
[[nodiscard]] Result<Message> decode(std::string_view datagram);
/// The answer to a request: a configuration, or nothing.
[[nodiscard]] std::string requestAnswer(std::string_view configuration);
/// The answer to a registration: how many processes use that GPU.
[[nodiscard]] std::string registrationAnswer(std::int32_t count);

/// The daemon's end. One thread; never waits.
class DaemonSocket {
public:
    struct Address {
        sockaddr_un name{};
        socklen_t size = 0;
    };
    struct Datagram {
        std::string bytes;
        Address from;
        pid_t pid = 0;  ///< as the kernel says and we number processes; 0: not seen from here
        uid_t user = 0;
    };

    /// In that folder; empty: under the name that all processes of the machine (of the network
    /// namespace) use. kFailure where another daemon has it.
    static Result<DaemonSocket> open(const std::string& folder);
    DaemonSocket(DaemonSocket&& other) noexcept;
    DaemonSocket& operator=(DaemonSocket&&) = delete;
    ~DaemonSocket();

    /// Becomes readable when there is something to receive.
    [[nodiscard]] int fd() const { return m_socket.get(); }
    /// Nothing: there is no more.
    [[nodiscard]] std::optional<Datagram> receive();
    /// A process that takes nothing, or is gone, gets nothing.
    void send(const Address& to, std::string_view bytes) const;

private:
    DaemonSocket(FileDescriptor socket, std::string path)
        : m_socket(std::move(socket)), m_path(std::move(path)) {}

    FileDescriptor m_socket;
    std::string m_path;  ///< empty: an abstract name
};

}  // namespace shardscope::launch::kineto
