// Long work of a subcommand: a live line of progress, and Ctrl-C that ends it tidily.
#pragma once

#include <chrono>
#include <csignal>
#include <string>

namespace shardscope::cli {

/// While one lives, SIGINT, SIGTERM and SIGHUP only make interrupted() true, so that the work can
/// remove what it began. One at a time.
class InterruptGuard {
public:
    InterruptGuard();
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;
    ~InterruptGuard();

    [[nodiscard]] static bool interrupted() { return times() > 0; }
    /// How often: a second time means it.
    [[nodiscard]] static int times();

private:
    struct sigaction m_interrupt {};
    struct sigaction m_terminate {};
    struct sigaction m_hangup {};
};

/// A live line on a terminal, nothing elsewhere; removed at the end.
class ProgressLine {
public:
    /// `doing`: "importing".
    ProgressLine(std::string doing, bool wanted);
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;
    ~ProgressLine();

    /// `share` of the work done, 0 where that is not known.
    void show(double share);

private:
    std::string m_doing;
    bool m_wanted;
    bool m_shown = false;
    std::chrono::steady_clock::time_point m_last;
};

}  // namespace shardscope::cli
