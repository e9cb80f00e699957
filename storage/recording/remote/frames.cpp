#include "storage/recording/remote/frames.h"

#include "storage/columns/byte_io.h"
#include "storage/columns/envelope.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace shardscope::storage::remote {
namespace {

constexpr std::size_t kSizeBytes = 4;
/// Kind and number.
constexpr std::size_t kFrontBytes = 5;
/// zstd makes what it cannot press a little longer.
constexpr std::size_t kMostBytes = kMostPayload + kMostPayload / 128 + 1024;

tl::unexpected<Error> notAFrame(const std::string& how) {
    return failure(ErrorCode::kUnreadable,
                   "the other side sends what is no answer of shardscope's (" + how +
                       "): see that nothing else writes to the connection");
}

constexpr int kTurnMs = 100;

void makeNonBlocking(int fd) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

tl::unexpected<Error> gone() {
    return failure(ErrorCode::kLaunch, "the connection was closed by the other side");
}

/// Whether it is a socket or a pipe, no signal comes of it where SIGPIPE is ignored or it is one.
ssize_t writeSome(int fd, std::span<const std::byte> bytes) {
    const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return count < 0 && errno == ENOTSOCK ? ::write(fd, bytes.data(), bytes.size()) : count;
}

}  // namespace

std::vector<std::byte> encodeFrame(FrameKind kind, std::uint32_t number,
                                   std::span<const std::byte> payload) {
    std::vector<std::byte> bytes;
    columns::putNumber(bytes, static_cast<std::uint8_t>(kind));
    columns::putNumber(bytes, number);
    columns::seal(bytes, payload);
    std::vector<std::byte> frame;
    frame.reserve(bytes.size() + kSizeBytes);
    columns::putNumber(frame, static_cast<std::uint32_t>(bytes.size()));
    frame.insert(frame.end(), bytes.begin(), bytes.end());
    return frame;
}

void FrameParser::append(std::span<const std::byte> bytes) {
    if (m_broken) return;
    m_bytes.erase(m_bytes.begin(), m_bytes.begin() + static_cast<std::ptrdiff_t>(m_taken));
    m_taken = 0;
    m_bytes.insert(m_bytes.end(), bytes.begin(), bytes.end());
}

Result<std::optional<Frame>> FrameParser::next() {
    if (m_broken) return notAFrame("it went on after that");
    const auto rest = std::span<const std::byte>(m_bytes).subspan(m_taken);
    columns::ByteReader in(rest);
    const auto size = in.number<std::uint32_t>();
    if (!in.good()) return std::optional<Frame>();
    m_broken = size < kFrontBytes || size > kMostBytes;
    if (m_broken) return notAFrame("a frame of " + std::to_string(size) + " bytes");
    const auto bytes = in.take(size);
    if (!in.good()) return std::optional<Frame>();
    Frame frame;
    columns::ByteReader front(bytes);
    frame.kind = static_cast<FrameKind>(front.number<std::uint8_t>());
    frame.number = front.number<std::uint32_t>();
    m_broken = frame.kind < FrameKind::kHello || frame.kind > kLastKind;
    if (m_broken) return notAFrame("a frame of no known kind");
    auto payload = columns::unseal(bytes, kFrontBytes, kMostPayload, "a frame");
    m_broken = !payload;
    if (m_broken) return notAFrame("a damaged frame");
    frame.payload = std::move(*payload);
    m_taken += kSizeBytes + size;
    return std::optional(std::move(frame));
}

FrameStream::FrameStream(int in, int out) : m_in(in), m_out(out) {
    makeNonBlocking(m_in);
    makeNonBlocking(m_out);
}

FrameStream::FrameStream(FrameStream&& other) noexcept
    : m_in(std::exchange(other.m_in, -1)),
      m_out(std::exchange(other.m_out, -1)),
      m_parser(std::move(other.m_parser)),
      m_bytesOut(other.m_bytesOut.load()),
      m_bytesIn(other.m_bytesIn.load()) {}

FrameStream::~FrameStream() {
    if (m_in >= 0) ::close(m_in);
    if (m_out >= 0 && m_out != m_in) ::close(m_out);
}

Result<void> FrameStream::send(FrameKind kind, std::uint32_t number,
                               std::span<const std::byte> payload,
                               const std::function<bool()>& goOn) {
    const auto frame = encodeFrame(kind, number, payload);
    std::span<const std::byte> rest(frame);
    while (!rest.empty()) {
        const ssize_t count = writeSome(m_out, rest);
        if (count > 0) {
            rest = rest.subspan(static_cast<std::size_t>(count));
            m_bytesOut += static_cast<std::uint64_t>(count);
            continue;
        }
        if (count < 0 && errno != EAGAIN && errno != EINTR) return gone();
        pollfd writable{m_out, POLLOUT, 0};
        ::poll(&writable, 1, kTurnMs);
        if (!goOn()) return failure(ErrorCode::kCancelled, "given up");
    }
    return {};
}

Result<std::optional<Frame>> FrameStream::receive(std::chrono::milliseconds limit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (true) {
        auto frame = m_parser.next();
        if (!frame || *frame) return frame;
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            until - std::chrono::steady_clock::now());
        pollfd readable{m_in, POLLIN, 0};
        const int ready =
            ::poll(&readable, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
        if (ready == 0) return std::optional<Frame>();
        if (ready < 0 && errno != EINTR) return gone();
        if (ready < 0) continue;
        std::array<std::byte, 64 * 1024> bytes;
        const ssize_t count = ::read(m_in, bytes.data(), bytes.size());
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (count <= 0) return gone();
        m_bytesIn += static_cast<std::uint64_t>(count);
        m_parser.append(std::span(bytes).first(static_cast<std::size_t>(count)));
    }
}

}  // namespace shardscope::storage::remote
