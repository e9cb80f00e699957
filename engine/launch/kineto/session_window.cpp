// What each rank is asked for, whether it has written that, and what is done where it has not.
#include "engine/launch/kineto/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace shardscope::launch::kineto {
namespace {

/// For an idle process to have written what it was asked for by time.
constexpr std::int64_t kLongestSilenceMs = 10'000;
/// Idle requests after which an open trace is one that nothing writes to any more.
constexpr int kIdleWithPart = 5;
/// For the ranks of a program to take the same steps.
constexpr int kMostTries = 3;
constexpr std::int32_t kLargestStep = 1'000'000'000;

}  // namespace

void Session::ask(Process& process) {
    if (process.state == State::kAsked) return;
    process.state = State::kAsked;
    const std::string& folder =
        process.look.traceFolder.empty() ? m_request.folder : process.look.traceFolder;
    // Kineto puts its process's number, as it sees it, before the ending.
    process.trace =
        fmt::format("{}/shardscope-{}-{}_{}.json", folder, ::getpid(), m_try, process.ownPid);
    m_files.insert(process.trace);
}

std::string Session::configuration(const Process& process) const {
    const Window& window = m_request.window;
    const std::string ending = fmt::format("_{}.json", process.ownPid);
    std::string text =
        fmt::format("ACTIVITIES_LOG_FILE={}.json\nPROFILE_REPORT_INPUT_SHAPES=true\n",
                    process.trace.substr(0, process.trace.size() - ending.size()));
    if (window.stacks) text += "PROFILE_WITH_STACK=true\n";
    // Steps go from one run of the optimizer to the next: one run more than steps.
    if (window.steps == 0)
        return text + fmt::format(
                          "ACTIVITIES_DURATION_MSECS={}\nACTIVITIES_WARMUP_PERIOD_SECS={}\n"
                          "PROFILE_START_TIME={}\n",
                          window.length.count(), kWarmUpMs / 1000, m_windowMs);
    return text + fmt::format(
                      "PROFILE_START_ITERATION={}\nPROFILE_START_ITERATION_ROUNDUP={}\n"
                      "ACTIVITIES_ITERATIONS={}\nACTIVITIES_WARMUP_ITERATIONS=1\n"
                      "ACTIVITIES_DURATION_MSECS=0\n",
                      m_fromStep, m_fromStep, window.steps + 1);
}

void Session::lookAtTrace(Process& process) {
    const TraceLook trace = m_eyes->trace(process.trace);
    if (!trace.exists) return;
    if (!trace.whole) {
        if (process.isIdle && ++process.idleWithPart >= kIdleWithPart)
            lose(process, "its trace is cut off: nothing writes to it any more");
        return;
    }
    process.idleWithPart = 0;
    process.written = trace;
    if (trace.hasWork) {
        process.state = State::kTaken;
        process.trace = m_eyes->keep(process.trace);
        m_files.insert(process.trace);
    } else if (process.look.rank) {
        lose(process, "it computed nothing in the window");
    } else {
        process.state = State::kIdleProcess;
    }
}

void Session::lose(Process& process, const std::string& reason) {
    process.state = State::kLost;
    process.reason = reason;
}

/// Those that were asked by time and are silent, and the last ones of those asked by steps.
void Session::noteLate(std::int64_t nowMs) {
    const bool byTime = m_request.window.steps == 0;
    const std::int64_t wait = m_request.wait.count();
    const std::int64_t over = m_windowMs + m_request.window.length.count();
    for (auto& [pid, process] : m_processes) {
        if (!process.isOpen()) continue;
        const bool asked = process.state == State::kAsked;
        if (byTime && !asked && nowMs > m_windowMs) {
            lose(process, process.wasBusy ? "another trace went on in it when it was to be asked"
                                          : "it did not ask for work before the window");
        } else if (byTime && asked &&
                   nowMs > over + (process.isIdle ? std::min(wait, kLongestSilenceMs) : wait)) {
            lookAtTrace(process);
            if (process.isOpen()) lose(process, "it was asked for the window, and wrote no trace");
        } else if (!byTime && m_firstTakenMs && nowMs > *m_firstTakenMs + wait) {
            lose(process, process.wasBusy && !asked
                              ? "another trace went on in it when it was to be asked"
                              : "it wrote no trace, and others have written theirs: PyTorch may "
                                "not count its optimizer's steps");
        }
    }
}

/// Whether all ranks have taken the same steps, by when their optimizers began.
bool Session::isAligned() const {
    std::optional<std::int64_t> first;
    std::int64_t last = 0, longest = 0;
    for (const auto& [pid, process] : m_processes) {
        const TraceLook& trace = process.written;
        if (process.state != State::kTaken || trace.steps < 2) continue;
        if (!first) last = trace.firstStepNs;
        first = std::min(first.value_or(last), trace.firstStepNs);
        last = std::max(last, trace.firstStepNs);
        longest = std::max(longest, (trace.lastStepNs - trace.firstStepNs) / (trace.steps - 1));
    }
    return !first || last - *first <= longest / 2;
}

std::int32_t Session::firstStepOf(const Process& process) const {
    const TraceLook& own = process.written;
    std::int64_t first = own.firstStepNs;
    for (const auto& [pid, other] : m_processes)
        if (other.state == State::kTaken && other.written.steps > 0)
            first = std::min(first, other.written.firstStepNs);
    if (own.steps < 2 || own.lastStepNs <= own.firstStepNs) return 0;
    const std::int64_t length = (own.lastStepNs - own.firstStepNs) / (own.steps - 1);
    constexpr std::int64_t kMost = 1'000'000;
    return static_cast<std::int32_t>(std::min(
        (own.firstStepNs - first + length / 2) / std::max<std::int64_t>(length, 1), kMost));
}

/// Ranks that are asked at different times, between which one of them passes a multiple of the
/// step, take other steps: multiples further apart make that rarer.
bool Session::repeats() {
    if (m_request.window.steps == 0 || isAligned() || ++m_try >= kMostTries) return false;
    m_fromStep = std::min(m_fromStep * 4, kLargestStep);
    m_firstTakenMs.reset();
    for (auto& [pid, process] : m_processes) {
        if (process.state != State::kTaken) continue;
        process.kept = process.trace;
        process.state = State::kKnown;
    }
    return true;
}

/// What an earlier try has is better than nothing.
void Session::settleTries() {
    const auto fellBack = [](const auto& each) {
        return !each.second.kept.empty() && each.second.state != State::kTaken;
    };
    m_isAligned = m_request.window.steps == 0 || isAligned();
    if (std::none_of(m_processes.begin(), m_processes.end(), fellBack)) return;
    m_isAligned = false;
    for (auto& [pid, process] : m_processes) {
        if (process.kept.empty()) continue;
        process.trace = process.kept;
        process.written = {};
        process.state = State::kTaken;
    }
}

}  // namespace shardscope::launch::kineto
