#include "engine/data/prefetch.h"

#include <utility>

namespace shardscope::data {

Prefetcher::Prefetcher(Make make, std::size_t depth) : m_make(std::move(make)), m_depth(depth) {}

HostBatch Prefetcher::take(std::int64_t index) {
    std::unique_lock lock(m_mutex);
    const auto isNext = [&] { return !m_ready.empty() && m_ready.front().index == index; };
    // What is in the making has the index m_next.
    const std::int64_t first = m_ready.empty() ? m_next : m_ready.front().index;
    if (!isNext() && first != index) {
        m_ready.clear();
        m_next = index;
    }
    if (!m_thread.joinable())
        m_thread = std::jthread([this](const std::stop_token& stop) { work(stop); });
    m_changed.notify_all();
    m_changed.wait(lock, isNext);
    Made made = std::move(m_ready.front());
    m_ready.pop_front();
    lock.unlock();
    m_changed.notify_all();
    if (made.error) std::rethrow_exception(made.error);
    return std::move(made.batch);
}

void Prefetcher::work(const std::stop_token& stop) {
    std::unique_lock lock(m_mutex);
    while (m_changed.wait(lock, stop, [this] { return m_ready.size() < m_depth; })) {
        const std::int64_t index = m_next;
        lock.unlock();
        Made made = make(index);
        lock.lock();
        // Another one may have been asked for meanwhile.
        if (m_next != index) continue;
        m_ready.push_back(std::move(made));
        ++m_next;
        m_changed.notify_all();
    }
}

Prefetcher::Made Prefetcher::make(std::int64_t index) const {
    Made made;
    made.index = index;
    try {
        made.batch = m_make(index);
    } catch (...) {
        made.error = std::current_exception();
    }
    return made;
}

}  // namespace shardscope::data
