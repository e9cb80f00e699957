// One rank as its agent sees it: process, frames, standard error.
//
// Lives on the agent's only thread. Destroying it kills the process if it still runs, and
// waits for that no longer than kGraceAfterKill.
#pragma once

#include "engine/launch/frame_channel.h"
#include "engine/launch/kill_cause.h"
#include "engine/launch/process.h"
#include "engine/run/protocol/messages.h"

#include <poll.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::launch {

class RankProcess {
public:
    /// What a rank inherits, as the agent's descriptors.
    struct Inherited {
        int segment = -1;
        int meeting = -1;  ///< listens where ranks of several hosts meet; rank 0's
    };
    /// Starts the program with its frames on descriptor 3, the segment on 4 and where ranks meet on
    /// 5, and sends `start`.
    static Result<RankProcess> launch(const run::LaunchRequest& request, const std::string& program,
                                      run::RankStart start, const Inherited& inherited);
    RankProcess(RankProcess&& other) noexcept;
    RankProcess& operator=(RankProcess&&) = delete;
    ~RankProcess();

    [[nodiscard]] RankId rank() const { return m_rank; }
    [[nodiscard]] pid_t pid() const { return m_pid; }
    /// And not given up.
    [[nodiscard]] bool isRunning() const { return !m_end && m_left == run::ProcessHold::kNone; }
    [[nodiscard]] bool failed() const { return !isRunning() && (!m_end || m_end->code != 0); }
    /// It closed its end, or its stream broke; it will be reaped soon.
    [[nodiscard]] bool isEnding() const { return isRunning() && !m_channel.isOpen(); }
    /// It has been ending for longer than `limit`: it hangs.
    [[nodiscard]] bool isOverdue(std::chrono::milliseconds limit) const;
    FrameChannel& channel() { return m_channel; }

    void kill();
    /// It was heard, or not listened to.
    void noteHeard() { m_heardAt = std::chrono::steady_clock::now(); }
    /// We stood still ourselves: that was no silence of the rank's.
    void excuse(std::chrono::steady_clock::duration pause) { m_heardAt += pause; }
    [[nodiscard]] run::RankLooked look() const;
    void addPolls(std::vector<pollfd>& polls, bool wantInput) const;
    /// Lines it has written to standard error since the last call.
    std::vector<std::string> takeErrorLines();
    /// True at the one call that finds it ended, or gives it up: it has not ended kGraceAfterKill
    /// after kill().
    bool reapNow();
    [[nodiscard]] run::RankExited exitMessage(const KillCauses& causes) const;

private:
    [[nodiscard]] bool hasOutlivedKill() const;
    RankProcess(RankId rank, pid_t pid, FileDescriptor socket, FileDescriptor errors);

    RankId m_rank;
    pid_t m_pid;
    FrameChannel m_channel;
    FileDescriptor m_errors;
    std::string m_partialLine;
    std::string m_lastWords;
    std::optional<std::chrono::steady_clock::time_point> m_endingSince;
    std::optional<std::chrono::steady_clock::time_point> m_killedAt;
    std::chrono::steady_clock::time_point m_heardAt = std::chrono::steady_clock::now();
    std::optional<ProcessEnd> m_end;
    run::ProcessHold m_left = run::ProcessHold::kNone;
};

}  // namespace shardscope::launch
