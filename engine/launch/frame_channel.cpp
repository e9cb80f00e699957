#include "engine/launch/frame_channel.h"

#include <fcntl.h>

#include <array>
#include <cerrno>

namespace shardscope::launch {
namespace {

constexpr std::size_t kReadSize = 64 * 1024;
/// One turn of the loop takes no more from one channel, so that none starves the others.
constexpr std::size_t kTurnBytes = 1024 * 1024;

void makeNonBlocking(int fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

}  // namespace

FrameChannel::FrameChannel(FileDescriptor socket) : m_input(std::move(socket)), m_open(true) {
    makeNonBlocking(m_input.get());
}

FrameChannel::FrameChannel(FileDescriptor input, FileDescriptor output)
    : m_input(std::move(input)), m_output(std::move(output)), m_open(true) {
    makeNonBlocking(m_input.get());
    makeNonBlocking(m_output.get());
}

std::pair<FileDescriptor, FileDescriptor> FrameChannel::release() {
    std::pair descriptors(std::move(m_input), std::move(m_output));
    close();
    return descriptors;
}

void FrameChannel::close() {
    m_open = false;
    m_input.reset();
    m_output.reset();
    m_outbox.clear();
    m_pendingBytes = 0;
    m_sentOfFirst = 0;
    m_sealed.clear();
}

void FrameChannel::sendEncoded(std::vector<std::byte> frame) {
    if (!m_open) return;
    if (m_seals) frame = network::sealedRecord(frame, m_seals->out);
    m_pendingBytes += frame.size();
    m_outbox.push_back(std::move(frame));
}

void FrameChannel::send(const run::Frame& frame) {
    if (m_open) sendEncoded(run::encodeFrame(frame.type, frame.rank, frame.payload));
}

void FrameChannel::send(RankId rank, const run::Message& message) {
    if (m_open) sendEncoded(run::encodeMessage(rank, run::encode(message)));
}

void FrameChannel::addPolls(std::vector<pollfd>& polls, bool wantInput) const {
    if (!m_open) return;
    const short input = wantInput ? POLLIN : 0;
    const short output = m_pendingBytes > 0 ? POLLOUT : 0;
    if (!m_output.valid()) {
        const auto events = static_cast<short>(input | output);
        // Without events poll would still report a hang-up, and spin until it may be read.
        if (events != 0) polls.push_back({m_input.get(), events, 0});
        return;
    }
    if (input != 0) polls.push_back({m_input.get(), input, 0});
    if (output != 0) polls.push_back({m_output.get(), output, 0});
}

Result<void> FrameChannel::receive(std::vector<run::Frame>& frames) {
    std::array<std::byte, kReadSize> buffer;
    bool ended = false;
    for (std::size_t taken = 0; m_open && !ended && taken < kTurnBytes;) {
        const ssize_t count = ::read(m_input.get(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        ended = count <= 0;
        if (ended) break;
        taken += static_cast<std::size_t>(count);
        auto good = take(std::span(buffer).first(static_cast<std::size_t>(count)), frames);
        if (!good) {
            close();
            return good;
        }
    }
    if (ended) close();
    return {};
}

Result<void> FrameChannel::take(std::span<const std::byte> bytes, std::vector<run::Frame>& frames) {
    // What came before a forged frame was the other side's.
    Result<void> genuine;
    if (m_seals)
        genuine = unseal(bytes);
    else
        m_parser.append(bytes);
    while (true) {
        auto next = m_parser.next();
        if (!next) return failure(next);
        if (!next->has_value()) return genuine;
        frames.push_back(std::move(**next));
    }
}

/// Passes on what is whole and has the right tag.
Result<void> FrameChannel::unseal(std::span<const std::byte> bytes) {
    m_sealed.append(bytes);
    while (true) {
        const auto frame = m_sealed.next(m_seals->in);
        if (!frame) return failure(frame);
        if (!frame->has_value()) return {};
        m_parser.append(**frame);
    }
}

void FrameChannel::flush() {
    while (m_open && !m_outbox.empty()) {
        const std::vector<std::byte>& first = m_outbox.front();
        const ssize_t count =
            ::write(outputFd(), first.data() + m_sentOfFirst, first.size() - m_sentOfFirst);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (count < 0) {
            // The other end reads no more. What they sent before may still be there to be received:
            // the end of the stream follows and closes the channel.
            m_outbox.clear();
            m_pendingBytes = 0;
            m_sentOfFirst = 0;
            return;
        }
        m_sentOfFirst += static_cast<std::size_t>(count);
        m_pendingBytes -= static_cast<std::size_t>(count);
        if (m_sentOfFirst == first.size()) {
            m_outbox.pop_front();
            m_sentOfFirst = 0;
        }
    }
}

}  // namespace shardscope::launch
