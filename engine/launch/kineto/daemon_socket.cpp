#include "engine/launch/kineto/protocol.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

namespace shardscope::launch::kineto {
namespace {

constexpr std::string_view kName = "dynolog";
/// Of a client, behind its folder: "/dynoconfigclient", and 36 characters.
constexpr std::size_t kClientNameBytes = 54;

using Address = DaemonSocket::Address;

const sockaddr* generic(const Address& address) {
    return reinterpret_cast<const sockaddr*>(&address.name);
}

/// The closing zero belongs to an abstract name as Kineto makes it.
Address abstractAddress() {
    Address address;
    address.name.sun_family = AF_UNIX;
    std::memcpy(address.name.sun_path + 1, kName.data(), kName.size());
    address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + kName.size() + 2);
    return address;
}

Address fileAddress(const std::string& path) {
    Address address;
    address.name.sun_family = AF_UNIX;
    std::memcpy(address.name.sun_path, path.data(), path.size());
    address.size = sizeof address.name;
    return address;
}

FileDescriptor datagramSocket() {
    return FileDescriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

tl::unexpected<Error> taken(const std::string& where) {
    return failure(ErrorCode::kFailure,
                   fmt::format("another daemon (dynolog, or another `shardscope attach`) has {}: "
                               "stop it, or start the program with KINETO_IPC_SOCKET_DIR=FOLDER "
                               "and name that with --socket-dir",
                               where));
}

/// Whether a daemon listens there; what an ended one has left is removed.
bool isServed(const std::string& path, const Address& address) {
    const FileDescriptor probe = datagramSocket();
    if (::connect(probe.get(), generic(address), address.size) == 0) return true;
    struct stat facts {};
    if (errno == ECONNREFUSED && ::lstat(path.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode))
        ::unlink(path.c_str());
    return false;
}

/// Only who may open what we write may be given it to write.
std::string folderFault(const std::string& folder) {
    struct stat facts {};
    if (::stat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) return "is no folder";
    if (facts.st_uid != ::geteuid()) return "is another user's";
    if ((facts.st_mode & 0022) != 0) return "can be written to by other users; chmod go-w";
    if (folder.size() + kClientNameBytes > sizeof sockaddr_un{}.sun_path)
        return "has too long a name for the sockets in it";
    return {};
}

pid_t senderOf(msghdr& message, uid_t& user) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS) continue;
        ucred credentials{};
        std::memcpy(&credentials, CMSG_DATA(part), sizeof credentials);
        user = credentials.uid;
        return credentials.pid;
    }
    return 0;
}

}  // namespace

Result<DaemonSocket> DaemonSocket::open(const std::string& folder) {
    const std::string path = folder.empty() ? "" : fmt::format("{}/{}", folder, kName);
    if (!folder.empty())
        if (const std::string fault = folderFault(folder); !fault.empty())
            return failure(ErrorCode::kUsage, fmt::format("{} {}", folder, fault));
    const Address address = folder.empty() ? abstractAddress() : fileAddress(path);
    if (!folder.empty() && isServed(path, address)) return taken(path);
    FileDescriptor socket = datagramSocket();
    const int yes = 1;
    if (socket.valid() && ::bind(socket.get(), generic(address), address.size) == 0 &&
        ::setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) == 0 &&
        (path.empty() || ::chmod(path.c_str(), 0600) == 0))
        return DaemonSocket(std::move(socket), path);
    const std::string name = path.empty() ? "the machine's socket of the name dynolog" : path;
    if (errno == EADDRINUSE) return taken(name);
    return failure(ErrorCode::kFailure, fmt::format("{}: {}", name, std::strerror(errno)));
}

DaemonSocket::DaemonSocket(DaemonSocket&& other) noexcept
    : m_socket(std::move(other.m_socket)), m_path(std::exchange(other.m_path, {})) {}

DaemonSocket::~DaemonSocket() {
    if (m_socket.valid() && !m_path.empty()) ::unlink(m_path.c_str());
}

std::optional<DaemonSocket::Datagram> DaemonSocket::receive() {
    Datagram datagram;
    datagram.bytes.resize(kLargestMessage + 1);  // longer ones are cut, and do not decode
    iovec bytes{datagram.bytes.data(), datagram.bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    msghdr message{};
    message.msg_name = &datagram.from.name;
    message.msg_namelen = sizeof datagram.from.name;
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t got = -1;
    do got = ::recvmsg(m_socket.get(), &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0) return std::nullopt;
    datagram.bytes.resize(static_cast<std::size_t>(got));
    datagram.from.size = message.msg_namelen;
    datagram.pid = senderOf(message, datagram.user);
    return datagram;
}

void DaemonSocket::send(const Address& to, std::string_view bytes) const {
    // A sender without a name cannot be answered.
    if (to.size <= offsetof(sockaddr_un, sun_path)) return;
    static_cast<void>(::sendto(m_socket.get(), bytes.data(), bytes.size(),
                               MSG_DONTWAIT | MSG_NOSIGNAL, generic(to), to.size));
}

}  // namespace shardscope::launch::kineto
