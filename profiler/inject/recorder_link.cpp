#include "profiler/inject/recorder_link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

namespace shardscope::inject {
namespace {

/// Of the file behind a descriptor; 0: there is none.
ino_t nodeOf(int descriptor) {
    struct stat facts {};
    return descriptor >= 0 && ::fstat(descriptor, &facts) == 0 ? facts.st_ino : 0;
}

/// Descriptors from here on are rarely in the way: programs number theirs from 3.
constexpr int kLeastDescriptor = 900;

/// The same file under a high number, closed by exec; where the limit forbids it, as it was.
int moveUp(int descriptor) {
    const int high = ::fcntl(descriptor, F_DUPFD_CLOEXEC, kLeastDescriptor);
    if (high < 0) return descriptor;
    ::close(descriptor);
    return high;
}

}  // namespace

Result<int> RecorderLink::connectTo(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof(address.sun_path))
        return failure(ErrorCode::kLaunch, "the recorder's socket has no usable path");
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0)
        return failure(ErrorCode::kLaunch, std::string("no socket: ") + std::strerror(errno));
    if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        const int error = errno;
        ::close(descriptor);
        return failure(ErrorCode::kLaunch,
                       "the recorder is not reached at " + path + ": " + std::strerror(error));
    }
    return moveUp(descriptor);
}

RecorderLink::RecorderLink(std::string path, int descriptor, capture::ProcessHello hello)
    : m_path(std::move(path)),
      m_hello(std::move(hello)),
      m_descriptor(descriptor),
      m_wake(moveUp(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))),
      m_socketNode(nodeOf(descriptor)),
      m_wakeNode(nodeOf(m_wake)),
      m_current(capture::encodeLink(m_hello)) {}

bool RecorderLink::post(const capture::LinkMessage& message) {
    const bool canWait = !std::holds_alternative<capture::EventChunk>(message);
    std::vector<std::byte> frame = capture::encodeLink(message);
    const MutexLock lock(m_mutex);
    if (m_lost) return false;
    // What is no event is small and rare, but a program may log without end.
    const std::size_t room = canWait ? 2 * kMostWaiting : kMostWaiting;
    if (m_waitingBytes + frame.size() > room) return false;
    m_waitingBytes += frame.size();
    m_waiting.push_back(std::move(frame));
    return true;
}

bool RecorderLink::isEmpty() const {
    const MutexLock lock(m_mutex);
    return m_waiting.empty() && m_sent == m_current.size();
}

void RecorderLink::wake() {
    if (nodeOf(m_wake) != m_wakeNode) return;  // then turn() ends a little later
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(m_wake, &one, sizeof(one));
}

bool RecorderLink::isOurs() const {
    return nodeOf(m_descriptor) == m_socketNode;
}

/// What was being sent is sent again as a whole, after the greeting.
void RecorderLink::reconnect() {
    const auto descriptor = connectTo(m_path);
    if (!descriptor) {
        m_lost = true;
        return;
    }
    m_descriptor = *descriptor;
    m_socketNode = nodeOf(*descriptor);
    m_reader = {};
    if (!m_greets && m_sent < m_current.size()) {
        const MutexLock lock(m_mutex);
        m_waitingBytes += m_current.size();
        m_waiting.push_front(std::move(m_current));
    }
    m_current = capture::encodeLink(m_hello);
    m_greets = true;
    m_sent = 0;
}

void RecorderLink::send() {
    for (;;) {
        if (m_sent == m_current.size()) {
            const MutexLock lock(m_mutex);
            if (m_waiting.empty()) return;
            m_current = std::move(m_waiting.front());
            m_waiting.pop_front();
            m_waitingBytes -= m_current.size();
            m_greets = false;
            m_sent = 0;
        }
        if (!isOurs()) {
            reconnect();
            if (m_lost) return;
            continue;
        }
        const auto sent = ::send(m_descriptor, m_current.data() + m_sent, m_current.size() - m_sent,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            m_sent += static_cast<std::size_t>(sent);
        } else if (errno != EINTR) {
            if (errno != EAGAIN) m_lost = true;
            return;
        }
    }
}

void RecorderLink::receive(const Take& take) {
    std::array<std::byte, 4096> bytes{};
    const auto got = ::recv(m_descriptor, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR && isOurs())) m_lost = true;
    if (got <= 0) return;
    m_reader.append(std::span(bytes).first(static_cast<std::size_t>(got)));
    for (;;) {
        auto message = m_reader.next();
        if (!message) m_lost = true;
        if (!message || !*message) return;
        take(**message);
    }
}

void RecorderLink::turn(int waitMs, const Take& take) {
    if (m_lost) return;
    send();
    const bool waits = m_sent < m_current.size();
    std::array<pollfd, 2> polls{
        {{m_descriptor, static_cast<short>(POLLIN | (waits ? POLLOUT : 0)), 0},
         {m_wake, POLLIN, 0}}};
    // A number that is not ours any more is not watched: it is the program's.
    if (!isOurs()) polls[0].fd = -1;
    if (nodeOf(m_wake) != m_wakeNode) polls[1].fd = -1;
    ::poll(polls.data(), polls.size(), waitMs);
    if ((polls[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && isOurs()) receive(take);
    std::uint64_t count = 0;
    if ((polls[1].revents & POLLIN) != 0 && nodeOf(m_wake) == m_wakeNode) [[maybe_unused]]
        const auto got = ::read(m_wake, &count, sizeof(count));
    if (!m_lost) send();
}

void RecorderLink::closeInChild() const {
    if (nodeOf(m_descriptor) == m_socketNode) ::close(m_descriptor);
    if (nodeOf(m_wake) == m_wakeNode) ::close(m_wake);
}

}  // namespace shardscope::inject
