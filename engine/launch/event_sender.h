// An agent's way to its recorder: what ranks say goes at once, events follow as fast as the link
// takes them.
//
// Lives in the agent's poll loop. To a recorder on the same host all goes in order, as it comes.
#pragma once

#include "engine/launch/chunk_backlog.h"
#include "engine/launch/frame_channel.h"
#include "engine/launch/send_window.h"
#include "engine/run/protocol/messages.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace shardscope::launch {

class EventSender {
public:
    using Clock = std::chrono::steady_clock;

    /// The channel outlives it. `far`: over a link that others use too.
    EventSender(FrameChannel& recorder, bool far) : m_recorder(recorder), m_far(far) {}

    /// From the launch on: what may lie on the disk here, and whether events must not be overtaken.
    void prepare(const BacklogLimits& limits, bool inOrder);

    /// A frame of a rank's.
    void send(const run::Frame& frame);
    /// Nothing more should be taken from ranks.
    [[nodiscard]] bool full() const;
    /// Nothing is held any more.
    [[nodiscard]] bool empty() const { return m_backlog.empty(); }
    void noteTaken(std::int64_t bytes) { m_window.noteTaken(bytes, Clock::now()); }
    /// What is held is thrown away.
    void discard();

    /// Sends what may be sent now, and from time to time how much is held.
    void turn();

private:
    void pump();
    void tell();

    FrameChannel& m_recorder;
    bool m_far;
    bool m_inOrder = false;
    ChunkBacklog m_backlog;
    SendWindow m_window{Clock::now()};
    std::int64_t m_givenUp = 0;
    bool m_saidTrouble = false;
    std::int64_t m_toldBytes = 0;
    Clock::time_point m_nextTold{};
};

}  // namespace shardscope::launch
