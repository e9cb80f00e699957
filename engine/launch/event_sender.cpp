#include "engine/launch/event_sender.h"

#include "engine/run/protocol/frame.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace shardscope::launch {
namespace {

/// With so much unsent, ranks' frames wait in their sockets; ranks count what they drop then.
constexpr std::size_t kLargestOutbox = 64u << 20;
/// In the channel, where nothing is overtaken.
constexpr std::size_t kMostAhead = 1u << 20;
constexpr std::chrono::milliseconds kReportInterval{500};

/// Given back to the disk in pieces, not at each frame.
constexpr std::int64_t kFreedAtOnce = 8 << 20;

/// Of a file without a name; also where the file system knows no such files.
int openNameless(const std::string& folder) {
    const int nameless = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (nameless >= 0) return nameless;
    std::string path = folder + "/.spill-XXXXXX";
    const int named = ::mkostemp(path.data(), O_CLOEXEC);
    if (named >= 0) ::unlink(path.c_str());
    return named;
}

bool writeAll(int fd, const std::vector<std::byte>& bytes, std::int64_t at) {
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t count = ::pwrite(fd, bytes.data() + done, bytes.size() - done,
                                       at + static_cast<std::int64_t>(done));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        done += static_cast<std::size_t>(count);
    }
    return true;
}

bool readAll(int fd, std::vector<std::byte>& bytes, std::int64_t at) {
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t count = ::pread(fd, bytes.data() + done, bytes.size() - done,
                                      at + static_cast<std::int64_t>(done));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        done += static_cast<std::size_t>(count);
    }
    return true;
}

}  // namespace

void EventSender::prepare(const BacklogLimits& limits, bool inOrder) {
    m_backlog = ChunkBacklog(limits);
    m_inOrder = inOrder;
}

void EventSender::send(const run::Frame& frame) {
    if (!m_far || (frame.type != run::FrameType::kChunk && !(m_inOrder && !m_backlog.empty())))
        return m_recorder.send(frame);
    m_backlog.push(run::encodeFrame(frame.type, frame.rank, frame.payload));
    pump();
}

bool EventSender::full() const {
    return m_recorder.pendingBytes() >= kLargestOutbox || m_backlog.full();
}

void EventSender::discard() {
    m_givenUp += m_backlog.bytes();
    m_reportedBytes = std::max<std::int64_t>(m_reportedBytes, m_backlog.bytes());
    m_backlog.clear();
    tell();
}

void EventSender::turn() {
    pump();
    if (m_far) tell();
}

void EventSender::pump() {
    while (!m_backlog.empty() && m_window.open() && m_recorder.pendingBytes() < kMostAhead) {
        const std::int64_t before = m_backlog.bytes();
        auto frame = m_backlog.pop();
        if (!frame) {
            m_givenUp += before - m_backlog.bytes();
            continue;
        }
        m_window.noteSent(static_cast<std::int64_t>(frame->size()));
        m_recorder.sendEncoded(std::move(*frame));
    }
    if (m_backlog.trouble().empty() || std::exchange(m_saidTrouble, true)) return;
    m_recorder.send(run::kNoRank,
                    run::LogLine{"warning",
                                 "events that the link is too slow for cannot wait on "
                                 "the disk: " +
                                     m_backlog.trouble()});
}

void EventSender::tell() {
    const auto now = Clock::now();
    const bool emptied = m_backlog.empty() && m_reportedBytes > 0;
    if (!emptied && (now < m_nextReport || m_backlog.bytes() == m_reportedBytes)) return;
    m_nextReport = now + kReportInterval;
    m_reportedBytes = m_backlog.bytes();
    m_recorder.send(run::kNoRank,
                    run::Backlog{m_reportedBytes, m_backlog.bytesOnDisk(), m_givenUp});
}

bool ChunkBacklog::full() const {
    return !m_newest.empty() || m_inMemory > m_limits.memory;
}

void ChunkBacklog::push(std::vector<std::byte> frame) {
    m_bytes += static_cast<std::int64_t>(frame.size());
    const bool behindDisk = !m_newest.empty();
    const bool fits = m_sizes.empty() && m_inMemory + frame.size() <= m_limits.memory;
    if (!behindDisk && !fits && spill(frame)) return;
    m_inMemory += frame.size();
    (m_sizes.empty() && !behindDisk ? m_oldest : m_newest).push_back(std::move(frame));
}

bool ChunkBacklog::openFile() {
    if (m_file.valid()) return true;
    m_file = FileDescriptor(openNameless(m_limits.folder));
    if (!m_file.valid())
        m_trouble =
            fmt::format("no file can be made in {}: {}", m_limits.folder, std::strerror(errno));
    return m_file.valid();
}

bool ChunkBacklog::spill(const std::vector<std::byte>& frame) {
    const auto size = static_cast<std::int64_t>(frame.size());
    if (!m_trouble.empty() || bytesOnDisk() + size > m_limits.disk || !openFile()) return false;
    if (!writeAll(m_file.get(), frame, m_end)) {
        m_trouble = fmt::format("{} cannot be written: {}", m_limits.folder, std::strerror(errno));
        return false;
    }
    m_end += size;
    m_sizes.push_back(frame.size());
    return true;
}

Result<std::vector<std::byte>> ChunkBacklog::pop() {
    if (m_oldest.empty() && !m_sizes.empty()) return readBack();
    std::deque<std::vector<std::byte>>& from = m_oldest.empty() ? m_newest : m_oldest;
    std::vector<std::byte> frame = std::move(from.front());
    from.pop_front();
    m_inMemory -= frame.size();
    m_bytes -= static_cast<std::int64_t>(frame.size());
    return frame;
}

Result<std::vector<std::byte>> ChunkBacklog::readBack() {
    std::vector<std::byte> frame(m_sizes.front());
    if (!readAll(m_file.get(), frame, m_begin)) {
        m_trouble = fmt::format("what was put onto the disk in {} cannot be read back: {}",
                                m_limits.folder, std::strerror(errno));
        m_bytes -= bytesOnDisk();
        m_sizes.clear();
        m_begin = m_end;
        return failure(ErrorCode::kFailure, m_trouble);
    }
    m_sizes.pop_front();
    m_begin += static_cast<std::int64_t>(frame.size());
    m_bytes -= static_cast<std::int64_t>(frame.size());
    freeRead();
    return frame;
}

/// What was read takes no disk any more; where the file system cannot do that, only at the end.
void ChunkBacklog::freeRead() {
    if (m_sizes.empty()) {
        static_cast<void>(::ftruncate(m_file.get(), 0));
        m_begin = m_end = m_freed = 0;
    } else if (m_begin - m_freed >= kFreedAtOnce) {
        ::fallocate(m_file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, m_freed,
                    m_begin - m_freed);
        m_freed = m_begin;
    }
}

void ChunkBacklog::clear() {
    *this = ChunkBacklog(std::move(m_limits));
}

}  // namespace shardscope::launch
