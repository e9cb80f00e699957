#include "engine/comm/nccl/nccl_watcher.h"

#include "engine/comm/message_numbers.h"
#include "engine/control/failure_sentence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace shardscope::comm {
namespace {

constexpr std::chrono::milliseconds kPoll{1};
constexpr std::chrono::milliseconds kErrorPoll{200};
/// Times the limit, for a peer that has not come.
constexpr int kPatience = 10;

/// A message is sent by one and received by the other, under one number.
bool fits(const OperationDescriptor& mine, const OperationDescriptor& theirs) {
    const bool message =
        mine.operation == CollectiveOp::kSend || mine.operation == CollectiveOp::kReceive;
    return mine.bytes == theirs.bytes && mine.dtype == theirs.dtype &&
           (message || mine.operation == theirs.operation);
}

std::string describe(const control::CollectiveReport& report) {
    std::string text = fmt::format("{} {} of {} bytes", toWord(report.operation),
                                   MessageNumbers::count(report.sequence), report.sizeBytes);
    if (report.step >= 0) text += fmt::format(" in step {}", report.step);
    if (report.layer.value >= 0) text += fmt::format(", layer {}", report.layer.value);
    if (report.layer == kRootLayer) text += ", embedding";
    return text;
}

}  // namespace

Call callOf(const control::CollectiveReport& report) {
    Call call;
    call.wanted.operation = report.operation;
    call.wanted.dtype = report.dtype;
    call.wanted.bytes = static_cast<std::uint64_t>(report.sizeBytes);
    call.sequence = report.sequence;
    call.group = report.group;
    return call;
}

NcclWatcher::NcclWatcher(const NcclGroup& group, std::shared_ptr<Alarm> alarm, NcclHandles& handles)
    : m_group(group), m_setup(group.setup), m_alarm(std::move(alarm)), m_handles(handles) {
    m_thread = std::thread([this] { watch(); });
    pthread_setname_np(m_thread.native_handle(), "collectives");
}

void NcclWatcher::add(NcclOperation operation) {
    {
        const MutexLock lock(m_mutex);
        m_pending.push_back(std::move(operation));
    }
    m_wakeUp.notifyOne();
}

void NcclWatcher::stop() {
    {
        const MutexLock lock(m_mutex);
        m_stopping = true;
    }
    m_wakeUp.notifyOne();
    if (m_thread.joinable()) m_thread.join();
}

void NcclWatcher::watch() {
    const NcclOperation* front = nullptr;
    try {
        m_setup.runtime->use();  // NCCL asks for the thread's device
        while (await(front) && look(front)) continue;
    } catch (const control::DeviceError& error) {
        // A device that has failed says so wherever it is asked; that too ends the run.
        const std::string doing =
            front == nullptr ? "between operations" : "during " + describe(front->report);
        alarm(fmt::format("the device of rank {} failed {}: {}", m_setup.rank, doing,
                          control::sentenceOf(error)));
    }
}

/// Until something is pending, or it is time to look at NCCL. False when there is no more to do.
bool NcclWatcher::await(const NcclOperation*& front) {
    const auto until = Clock::now() + kErrorPoll;
    MutexLock lock(m_mutex);
    while (!m_stopping && m_pending.empty() && m_wakeUp.waitUntil(lock, until)) continue;
    front = m_pending.empty() ? nullptr : &m_pending.front();  // deque: stays where it is
    return !m_stopping || (front != nullptr && !m_alarm->raised());
}

/// False once the alarm has been raised.
bool NcclWatcher::look(const NcclOperation* front) {
    m_setup.clock->refresh();
    const Clock::time_point now = Clock::now();
    if (now >= m_nextErrorPoll) {
        m_nextErrorPoll = now + kErrorPoll;
        if (peerLost()) return false;
    }
    if (front == nullptr) return !m_alarm->raised();
    if (ranksDisagree(front->report)) return false;
    if (m_setup.runtime->reached(front->end())) {
        report(*front);
        m_running.reset();
        const MutexLock lock(m_mutex);
        m_pending.pop_front();
        return true;
    }
    if (m_alarm->raised() || hung(*front, now)) return false;
    std::this_thread::sleep_for(kPoll);
    return true;
}

/// Whether a peer has asked for something else at this place.
bool NcclWatcher::ranksDisagree(const control::CollectiveReport& report) {
    const Call mine = callOf(report);
    for (std::size_t p = 0; p < m_setup.calls.size(); ++p) {
        if (p == static_cast<std::size_t>(m_setup.rank) || m_setup.calls[p] == nullptr) continue;
        const auto theirs = m_setup.calls[p]->find(m_group.id, report.sequence);
        if (!theirs || fits(mine.wanted, *theirs)) continue;
        alarm(mismatch(mine, m_group.worldRanks[static_cast<std::size_t>(m_setup.rank)], *theirs,
                       m_group.worldRanks[p]));
        return true;
    }
    return false;
}

void NcclWatcher::report(const NcclOperation& operation) {
    control::CollectiveReport report = operation.report;
    std::tie(report.startNs, report.endNs) =
        m_setup.clock->hostNs(operation.work->started, operation.work->ended);
    // The host may be a long way ahead, never behind.
    report.startNs = std::max(report.startNs, report.issueNs);
    report.endNs = std::max(report.endNs, report.startNs);
    if (m_setup.observer != nullptr) m_setup.observer->collective(report);
    if (operation.replay) operation.replay->tell();
}

bool NcclWatcher::peerLost() {
    int error = kNcclSuccess;
    std::string last;
    m_handles.inspect(m_group.handle, [&] {
        const int result = m_setup.api->asyncError(m_group.handle, &error);
        if (result != kNcclSuccess) error = result;
        if (error != kNcclSuccess) last = m_setup.api->lastError(m_group.handle);
    });
    if (error == kNcclSuccess || error == kNcclInProgress) return false;
    alarm(fmt::format("NCCL reports on rank {}: {}{}{}; a peer has probably ended", m_setup.rank,
                      m_setup.api->errorText(error), last.empty() ? "" : "; ", last));
    return true;
}

/// World ranks of the group that have not asked for it yet, as far as that is known.
std::vector<int> NcclWatcher::missing(const control::CollectiveReport& report) const {
    std::vector<int> ranks;
    for (std::size_t p = 0; p < m_setup.calls.size(); ++p) {
        if (MessageNumbers::isMessage(report.sequence) || m_setup.calls[p] == nullptr ||
            m_setup.calls[p]->hasCome(m_group.id, report.sequence))
            continue;
        ranks.push_back(m_group.worldRanks[p]);
    }
    return ranks;
}

/// A peer that has not come yet may be writing a checkpoint, and the end of one is reported by
/// the process that started it: it is waited for longer.
bool NcclWatcher::hung(const NcclOperation& front, Clock::time_point now) {
    if (!m_running && m_setup.runtime->reached(front.begin())) m_running = {now, now};
    if (!m_running || now - m_running->since <= m_setup.timeout / 2) return false;
    const control::CollectiveReport known = lastKnown(front);
    const std::vector<int> late = missing(known);
    if (!late.empty()) m_running->wholeSince = now;
    const auto limit = late.empty() ? m_setup.timeout : kPatience * m_setup.timeout;
    if (now - (late.empty() ? m_running->wholeSince : m_running->since) <= limit) return false;
    const std::string why =
        late.empty() ? "a peer is gone, stuck, or asked for something else"
                     : fmt::format("rank {} has not asked for it yet, it is stuck or far behind",
                                   fmt::join(late, ", "));
    const double seconds = std::chrono::duration<double>(limit).count();
    const std::string running =
        fmt::format("has been running on rank {} for more than {} s", m_setup.rank, seconds);
    alarm(fmt::format("{}: {}; look at the other ranks' last words",
                      front.replay ? fmt::format("the graph of {} {} and has come to {}",
                                                 front.replay->name(), running, describe(known))
                                   : fmt::format("{} {}", describe(front.report), running),
                      why));
    return true;
}

/// Of a replay the first one that is not known to have ended, as far as the graph's events say.
control::CollectiveReport NcclWatcher::lastKnown(const NcclOperation& front) {
    control::CollectiveReport last = front.report;
    if (!front.replay) return last;
    const MutexLock lock(m_mutex);
    for (const NcclOperation& operation : m_pending) {
        if (operation.replay != front.replay) break;
        last = operation.report;
        if (!passed(operation)) break;
    }
    return last;
}

/// In this replay: what an event has kept of the one before lies before the launch.
bool NcclWatcher::passed(const NcclOperation& operation) const {
    try {
        return m_setup.runtime->reached(operation.work->ended) &&
               m_setup.runtime->elapsedNs(operation.replay->launched, operation.work->ended) >= 0;
    } catch (const control::DeviceError&) {
        return false;  // no launch has come to it so far
    }
}

void NcclWatcher::alarm(const std::string& sentence) {
    if (m_alarm->raise(sentence) && m_setup.failed) m_setup.failed(sentence);
}

}  // namespace shardscope::comm
