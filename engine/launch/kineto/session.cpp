#include "engine/launch/kineto/session.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace shardscope::launch::kineto {
namespace {

constexpr std::size_t kMostProcesses = 512;
constexpr std::int64_t kOthersEveryMs = 2000;
constexpr std::int64_t kSlackMs = 1000;
/// A repeated request that comes late would be a second window.
constexpr int kIdleBeforeRepeat = 3;

}  // namespace

Session::Session(SessionRequest request, std::shared_ptr<const ProcessEyes> eyes)
    : m_request(std::move(request)),
      m_eyes(std::move(eyes)),
      m_fromStep(std::max(m_request.window.fromStep, 1)) {}

std::optional<std::string> Session::hear(std::string_view datagram, pid_t pid, uid_t user,
                                         std::int64_t nowMs) {
    const auto message = decode(datagram);
    if (!message) return std::nullopt;
    if (message->registration) return registrationAnswer(1);
    const Request& request = *message->request;
    if (pid == 0) pid = request.pids.front();
    // Root's are those of containers, which may do what they like anyway.
    if (user != ::geteuid() && user != 0) {
        if (m_foreign.size() < kMostProcesses) m_foreign.insert(pid);
        return std::nullopt;
    }
    Process* process = isOurs(pid) ? processOf(request, pid, nowMs) : nullptr;
    if (process == nullptr) return requestAnswer({});
    process->isIdle = request.idle;
    return requestAnswer(answerFor(*process, nowMs));
}

bool Session::isNamed(pid_t pid) const {
    return std::find(m_request.only.begin(), m_request.only.end(), pid) != m_request.only.end();
}

/// Of a launcher that is named, the processes that it started count.
bool Session::isOurs(pid_t pid) const {
    if (m_request.only.empty() || isNamed(pid) || m_processes.contains(pid)) return true;
    const auto ancestors = m_eyes->look(pid).ancestors;
    return std::any_of(ancestors.begin(), ancestors.end(),
                       [this](pid_t ancestor) { return isNamed(ancestor); });
}

/// Null where there are too many.
Session::Process* Session::processOf(const Request& request, pid_t pid, std::int64_t nowMs) {
    const auto known = m_processes.find(pid);
    if (known != m_processes.end() && m_eyes->isAlive(pid, known->second.look.startTicks))
        return &known->second;
    if (known != m_processes.end() && known->second.look.startTicks == 0) return &known->second;
    if (m_processes.size() >= kMostProcesses) return nullptr;
    Process process;
    process.pid = pid;
    process.ownPid = request.pids.front();
    process.look = m_eyes->look(pid);
    process.named = roleByName(process.look.command);
    if (process.look.ancestors.empty())
        process.look.ancestors.assign(request.pids.begin() + 1, request.pids.end());
    Process& added = m_processes.insert_or_assign(pid, std::move(process)).first->second;
    m_others.erase(pid);
    assignRoles();
    if (added.role == Role::kRank) {
        m_lastNewMs = nowMs;
        if (!m_firstMs) m_firstMs = nowMs;
    }
    return &added;
}

std::string Session::answerFor(Process& process, std::int64_t nowMs) {
    if (m_stage != Stage::kWindow || !process.isOpen()) return {};
    if (process.state == State::kAsked) {
        lookAtTrace(process);
        if (process.state == State::kTaken && !m_firstTakenMs) m_firstTakenMs = nowMs;
        // One that was asked too early has dropped it; a second request beside one that waits is
        // dropped.
        process.idleSinceAsked = process.isIdle ? process.idleSinceAsked + 1 : 0;
        if (process.state != State::kAsked || m_request.window.steps == 0 ||
            process.idleSinceAsked < kIdleBeforeRepeat || process.idleWithPart > 0)
            return {};
    }
    if (!process.isIdle) {
        process.wasBusy = process.wasBusy || process.state == State::kKnown;
        return {};
    }
    const bool late = m_request.window.steps == 0 && nowMs > m_windowMs - kWarmUpMs - kTurnMs;
    process.idleSinceAsked = 0;
    if (!late) ask(process);
    return late ? std::string() : configuration(process);
}

void Session::tick(std::int64_t nowMs) {
    if (m_stage == Stage::kOver) return;
    if (!m_startedMs) m_startedMs = nowMs;
    noteEnds();
    noteOthers(nowMs);
    if (m_stage == Stage::kGathering) {
        if (isGathered(nowMs)) begin(nowMs);
        return;
    }
    noteLate(nowMs);
    const bool open = std::any_of(m_processes.begin(), m_processes.end(),
                                  [](const auto& each) { return each.second.isOpen(); });
    if (open || mayComeLater(nowMs) || repeats()) return;
    settleTries();
    m_stage = Stage::kOver;
}

/// An unsound number of processes would be expected for ever: only till the wait is over.
bool Session::mayComeLater(std::int64_t nowMs) const {
    if (m_request.window.steps == 0) return nowMs < m_windowMs && rankCount() < expected();
    const auto since = m_firstTakenMs ? m_firstTakenMs : m_firstMs;
    return rankCount() < expected() && since && nowMs - *since < m_request.wait.count();
}

bool Session::isGathered(std::int64_t nowMs) const {
    const std::int64_t wait = m_request.wait.count();
    const bool named = std::all_of(m_request.only.begin(), m_request.only.end(), [&](pid_t pid) {
        return m_processes.contains(pid) || isHopeless(pid);
    });
    if (!named && nowMs - *m_startedMs < wait) return false;
    if (named && !m_request.only.empty() && m_processes.empty()) return true;
    if (!m_request.only.empty() && rankCount() >= m_request.only.size()) return true;
    if (rankCount() == 0 || !m_firstMs) return !m_request.endless && nowMs - *m_startedMs >= wait;
    if (expected() > 0) return rankCount() >= expected() || nowMs - *m_firstMs >= wait;
    // Nothing says how many there are: once no more have come for a while.
    return nowMs - *m_lastNewMs >= std::min(m_request.interval.count() + kSlackMs, wait);
}

/// It will not ask: it is gone, or PyTorch is loaded and was not meant to.
bool Session::isHopeless(pid_t pid) const {
    const ProcessLook look = m_eyes->look(pid);
    const bool elsewhere = !look.wantsDaemon || look.socketFolder != m_request.socketFolder;
    return look.startTicks == 0 || (look.readable && elsewhere && m_eyes->hasTorch(pid));
}

void Session::begin(std::int64_t nowMs) {
    m_stage = rankCount() == 0 ? Stage::kOver : Stage::kWindow;
    const std::int64_t least = 2 * m_request.interval.count() + kWarmUpMs + kTurnMs + kSlackMs;
    m_windowMs = nowMs + std::max(m_request.after.count(), least);
}

void Session::noteEnds() {
    for (auto& [pid, process] : m_processes) {
        if (!process.isOpen() || process.look.startTicks == 0 ||
            m_eyes->isAlive(pid, process.look.startTicks))
            continue;
        if (process.state == State::kAsked) lookAtTrace(process);
        if (!process.isOpen()) continue;
        process.ended = true;
        lose(process, process.state == State::kAsked ? "it ended before its trace was written"
                                                     : "it ended before the window");
    }
}

/// Of the program, what has not asked: looked at while it lives.
void Session::noteOthers(std::int64_t nowMs) {
    if (m_request.root == 0 || m_stage != Stage::kGathering || nowMs < m_nextOthersMs) return;
    m_nextOthersMs = nowMs + kOthersEveryMs;
    for (auto& [pid, other] : m_others) other.alive = false;
    for (const pid_t pid : m_eyes->descendants(m_request.root)) {
        if (m_processes.contains(pid) || m_others.size() >= kMostProcesses) continue;
        Other other{m_eyes->look(pid), false, true};
        if (other.look.startTicks == 0) continue;
        other.hasTorch = m_eyes->hasTorch(pid);
        m_others.insert_or_assign(pid, std::move(other));
    }
}

void Session::stop(const std::string& reason) {
    if (m_stage == Stage::kOver) return;
    noteEnds();
    m_stopped = reason;
    for (auto& [pid, process] : m_processes) {
        if (process.state == State::kAsked && process.isOpen()) lookAtTrace(process);
        if (process.isOpen()) lose(process, reason);
    }
    settleTries();
    m_stage = Stage::kOver;
}

std::pair<int, int> Session::progress() const {
    int there = 0, written = 0;
    for (const auto& [pid, process] : m_processes) {
        there += process.role == Role::kRank && process.state != State::kIdleProcess ? 1 : 0;
        written += process.state == State::kTaken ? 1 : 0;
    }
    return {there, written};
}

}  // namespace shardscope::launch::kineto
