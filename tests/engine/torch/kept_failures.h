// What the watchers of communicators have said; any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace shardscope::test {

/// The watcher's word, awaited by the test.
class Failures {
public:
    void add(const std::string& sentence) {
        {
            const std::lock_guard lock(m_mutex);
            m_sentences.push_back(sentence);
        }
        m_changed.notify_all();
    }
    std::string first() {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [this] { return !m_sentences.empty(); });
        return m_sentences.front();
    }
    std::size_t count() {
        const std::lock_guard lock(m_mutex);
        return m_sentences.size();
    }

private:
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::vector<std::string> m_sentences;
};

}  // namespace shardscope::test
