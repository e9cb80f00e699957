// An agent's way to its recorder: what ranks say goes at once, events follow as fast as the link
// takes them.
//
// Lives in the agent's poll loop. To a recorder on the same host all goes in order, as it comes.
#pragma once

#include "engine/launch/frame_channel.h"
#include "engine/run/protocol/messages.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/result.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace shardscope::launch {

// Events that wait for a link which is slower than they come: in memory, then in a file without a
// name, which is gone with the process. What was put in first comes out first.
//
// One thread. Sizes in bytes.

struct BacklogLimits {
    std::size_t memory = 16u << 20;
    std::int64_t disk = 0;  ///< 0: memory only
    std::string folder;     ///< of the file
};

class ChunkBacklog {
public:
    explicit ChunkBacklog(BacklogLimits limits = {}) : m_limits(std::move(limits)) {}

    [[nodiscard]] bool empty() const { return m_bytes == 0; }
    [[nodiscard]] std::int64_t bytes() const { return m_bytes; }
    [[nodiscard]] std::int64_t bytesOnDisk() const { return m_end - m_begin; }
    /// More is held than may be: nothing should be put in any more.
    [[nodiscard]] bool full() const;
    /// Why the disk is not used (any more); empty: it is.
    [[nodiscard]] const std::string& trouble() const { return m_trouble; }

    void push(std::vector<std::byte> frame);
    /// The oldest. An error when the file cannot be read back: what was in it is lost.
    Result<std::vector<std::byte>> pop();
    void clear();

private:
    bool spill(const std::vector<std::byte>& frame);
    bool openFile();
    Result<std::vector<std::byte>> readBack();
    void freeRead();

    BacklogLimits m_limits;
    std::deque<std::vector<std::byte>> m_oldest;  ///< before all on disk
    std::deque<std::size_t> m_sizes;              ///< of the frames on disk
    std::deque<std::vector<std::byte>> m_newest;  ///< after all on disk
    std::size_t m_inMemory = 0;
    std::int64_t m_bytes = 0;
    FileDescriptor m_file;
    std::int64_t m_begin = 0;  ///< of what is still to be read
    std::int64_t m_end = 0;
    std::int64_t m_freed = 0;  ///< before it no disk is taken
    std::string m_trouble;
};

// How much of a stream may be on its way, so that what is urgent does not wait behind it: half a
// second's worth of what the other end takes in, but never less than keeps a quick link busy.
//
// One thread. Sizes in bytes since the beginning.

class SendWindow {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::int64_t kLeast = 256 << 10;
    static constexpr std::chrono::milliseconds kWorth{500};

    explicit SendWindow(Clock::time_point now) : m_since(now) {}

    void noteSent(std::int64_t bytes) { m_sent += bytes; }
    /// The other end has taken in `total` so far; it cannot take what was not sent.
    void noteTaken(std::int64_t total, Clock::time_point now) {
        m_taken = std::clamp(total, m_taken, m_sent);
        if (now - m_since < kWorth) return;
        // What was taken in about half a second is what half a second is worth.
        const double parts = std::chrono::duration<double>(now - m_since) / kWorth;
        m_size = std::max(
            kLeast, static_cast<std::int64_t>(static_cast<double>(m_taken - m_takenThen) / parts));
        m_since = now;
        m_takenThen = m_taken;
    }
    [[nodiscard]] bool open() const { return m_sent - m_taken < m_size; }
    [[nodiscard]] std::int64_t size() const { return m_size; }

private:
    std::int64_t m_sent = 0;
    std::int64_t m_taken = 0;
    std::int64_t m_takenThen = 0;  ///< at m_since
    std::int64_t m_size = kLeast;
    Clock::time_point m_since;
};

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
    std::int64_t m_reportedBytes = 0;
    Clock::time_point m_nextReport{};
};

}  // namespace shardscope::launch
