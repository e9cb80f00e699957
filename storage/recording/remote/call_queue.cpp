#include "storage/recording/remote/call_queue.h"

#include <utility>

namespace shardscope::storage::remote {

bool CallQueue::put(std::uint32_t number, Call call) {
    const MutexLock lock(m_mutex);
    if (m_entries.size() == kMostWaiting) return false;
    Entry entry;
    entry.waiting = {number, std::move(call), entry.generations.next()};
    m_entries.push_back(std::move(entry));
    m_changed.notifyOne();
    return true;
}

void CallQueue::cancel(std::uint32_t number) {
    const MutexLock lock(m_mutex);
    if (m_taken && m_taken->waiting.number == number) m_taken->generations.supersede();
    for (Entry& entry : m_entries)
        if (entry.waiting.number == number) entry.generations.supersede();
}

void CallQueue::close() {
    const MutexLock lock(m_mutex);
    m_closed = true;
    if (m_taken) m_taken->generations.supersede();
    m_entries.clear();
    m_changed.notifyOne();
}

std::optional<WaitingCall> CallQueue::take() {
    MutexLock lock(m_mutex);
    while (m_entries.empty() && !m_closed) m_changed.wait(lock);
    m_taken.reset();
    if (m_entries.empty()) return std::nullopt;
    m_taken.emplace(std::move(m_entries.front()));
    m_entries.pop_front();
    return std::optional(m_taken->waiting);
}

}  // namespace shardscope::storage::remote
