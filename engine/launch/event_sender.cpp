#include "engine/launch/event_sender.h"

#include "engine/run/protocol/frame.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace shardscope::launch {
namespace {

/// With so much unsent, ranks' frames wait in their sockets; ranks count what they drop then.
constexpr std::size_t kLargestOutbox = 64u << 20;
/// In the channel, where nothing is overtaken.
constexpr std::size_t kMostAhead = 1u << 20;
constexpr std::chrono::milliseconds kTellInterval{500};

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
    m_toldBytes = std::max<std::int64_t>(m_toldBytes, m_backlog.bytes());
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
    const bool emptied = m_backlog.empty() && m_toldBytes > 0;
    if (!emptied && (now < m_nextTold || m_backlog.bytes() == m_toldBytes)) return;
    m_nextTold = now + kTellInterval;
    m_toldBytes = m_backlog.bytes();
    m_recorder.send(run::kNoRank, run::Backlog{m_toldBytes, m_backlog.bytesOnDisk(), m_givenUp});
}

}  // namespace shardscope::launch
