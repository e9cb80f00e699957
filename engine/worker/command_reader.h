// Reads what the agent sends: the start message first, then commands on a thread of its own.
//
// When the agent is gone there is nothing to train for: the process ends at once.
#pragma once

#include "engine/run/protocol/frame.h"
#include "engine/run/protocol/messages.h"
#include "storage/model/result.h"

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace shardscope::worker {

class CommandReader {
public:
    explicit CommandReader(int fd) : m_fd(fd) {}
    ~CommandReader();
    CommandReader(const CommandReader&) = delete;
    CommandReader& operator=(const CommandReader&) = delete;

    /// Blocks until the start message is there.
    Result<run::RankStart> readStart();
    /// From here on commands set stopWanted(), and end of file ends the process.
    void watch();
    /// End of file is expected from now on (the rank is done).
    void expectEnd() { m_expectEnd.store(true); }

    [[nodiscard]] bool stopWanted() const { return m_stopWanted.load(); }

    /// Whether a change of what is captured is waiting; every rank hears the same ones in the same
    /// order, but not at the same moment.
    [[nodiscard]] bool captureChangeWaits() const;
    /// The oldest that waits: there is one.
    [[nodiscard]] CaptureChange takeCaptureChange();

    /// Corrections of the clock go to `taker` from now on, on the reading thread, those that came
    /// before at once; null: to none, and none is on its way when this returns.
    void onClock(std::function<void(const run::ClockCorrection&)> taker);

private:
    Result<run::Message> nextMessage();
    void run();
    void take(const run::Command& command);
    void take(const run::ClockCorrection& correction);

    const int m_fd;
    run::FrameParser m_parser;
    std::atomic<bool> m_stopWanted{false};
    std::atomic<bool> m_expectEnd{false};
    mutable std::mutex m_mutex;
    std::deque<CaptureChange> m_changes;  // guarded by m_mutex
    std::mutex m_clockMutex;
    std::function<void(const run::ClockCorrection&)> m_onClock;  // guarded by m_clockMutex
    std::vector<run::ClockCorrection> m_earlyCorrections;        // guarded by m_clockMutex
    std::thread m_thread;
};

}  // namespace shardscope::worker
