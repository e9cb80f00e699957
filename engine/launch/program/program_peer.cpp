#include "engine/launch/program/program_peer.h"

#include "storage/columns/chunk.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

namespace shardscope::launch {
namespace {

/// What a process recorded before its rank was known: minutes of it, then the rest is given up.
BacklogLimits limits(const std::string& folder) {
    return {std::size_t{64} << 20, std::int64_t{4} << 30, folder};
}

}  // namespace

ProgramPeer::ProgramPeer(FileDescriptor socket, const std::string& folder)
    : m_socket(std::move(socket)), m_held(limits(folder)) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(m_socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) m_pid = peer.pid;
    if (m_pid > 0) m_process = openProcess(m_pid);
}

/// The connection may go on in another peer meanwhile, with what is left to be cut.
Result<void> ProgramPeer::cut(const Take& take) {
    while (m_socket.valid()) {
        auto message = m_reader.next();
        if (!message) {
            close();
            return failure(message);
        }
        if (!*message) break;
        if (const auto* hello = std::get_if<capture::ProcessHello>(&**message))
            m_session = hello->session;
        take(**message);
    }
    return {};
}

Result<void> ProgramPeer::receive(const Take& take) {
    if (auto done = cut(take); !done) return done;
    std::array<std::byte, 65'536> buffer;
    // A megabyte per turn: other processes wait as well.
    for (int reads = 0; reads < 16 && m_socket.valid(); ++reads) {
        const ssize_t got = ::recv(m_socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
        if (got <= 0) {
            close();
            return {};
        }
        m_reader.append(std::span(buffer).first(static_cast<std::size_t>(got)));
        if (auto done = cut(take); !done) return done;
    }
    return {};
}

bool ProgramPeer::hasInput() const {
    int bytes = 0;
    return isOpen() && ::ioctl(m_socket.get(), FIONREAD, &bytes) == 0 && bytes > 0;
}

void ProgramPeer::continueOn(ProgramPeer& other) {
    m_socket = std::move(other.m_socket);
    m_reader = std::exchange(other.m_reader, {});
}

void ProgramPeer::tell(const capture::LinkMessage& message) {
    if (!isOpen()) return;
    const auto frame = capture::encodeLink(message);
    // Orders are few and small: one that finds no room is for a process that does not listen.
    static_cast<void>(
        ::send(m_socket.get(), frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

void ProgramPeer::hold(const capture::LinkMessage& message) {
    if (const auto* chunk = std::get_if<capture::EventChunk>(&message)) {
        if (const auto header = columns::decodeHeader(chunk->bytes)) m_heldEvents += header->count;
        if (m_held.full()) return;
    }
    m_held.push(capture::encodeLink(message));
}

void ProgramPeer::release(const Take& take) {
    capture::LinkReader reader;
    while (!m_held.empty()) {
        const auto frame = m_held.pop();
        if (!frame) return m_held.clear();
        reader.append(*frame);
        auto message = reader.next();
        if (message && *message) take(**message);
    }
    m_heldEvents = 0;
}

KnownEnd ProgramPeer::end() const {
    KnownEnd end = knownEnd(m_process);
    if (!end.code && !end.signal && ending) end.code = ending->status & 0xff;
    return end;
}

}  // namespace shardscope::launch
