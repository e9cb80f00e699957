// That a communicator cannot go on, and why.
#pragma once

#include "engine/comm/communicator.h"
#include "storage/model/mutex.h"

#include <atomic>
#include <string>
#include <utility>

namespace shardscope::comm {

/// Set once by the watcher; read by everybody who waits.
class Alarm {
public:
    /// Whether it was the first.
    bool raise(std::string sentence) {
        const MutexLock lock(m_mutex);
        if (m_raised.load()) return false;
        m_sentence = std::move(sentence);
        m_raised.store(true);
        return true;
    }
    [[nodiscard]] bool raised() const { return m_raised.load(); }
    void check() const {
        if (!raised()) return;
        const MutexLock lock(m_mutex);
        throw CommunicationError(m_sentence);
    }

private:
    std::atomic<bool> m_raised{false};
    mutable Mutex m_mutex;
    std::string m_sentence SHARDSCOPE_GUARDED_BY(m_mutex);
};

}  // namespace shardscope::comm
