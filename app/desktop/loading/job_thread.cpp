#include "app/desktop/loading/job_thread.h"

#include <pthread.h>

#include <utility>

namespace shardscope::desktop {

JobThread::JobThread(const char* name)
    : m_thread([this](const std::stop_token& stop) { run(stop); }) {
    pthread_setname_np(m_thread.native_handle(), name);
}

JobThread::~JobThread() {
    const std::scoped_lock lock(m_mutex);
    m_waiting.clear();
    m_thread.request_stop();
}

void JobThread::submit(int kind, Job job) {
    {
        const std::scoped_lock lock(m_mutex);
        m_waiting[kind] = std::move(job);
    }
    m_wake.notify_one();
}

bool JobThread::isIdle() const {
    const std::scoped_lock lock(m_mutex);
    return m_waiting.empty() && !m_running;
}

void JobThread::run(const std::stop_token& stop) {
    while (true) {
        Job job;
        {
            std::unique_lock lock(m_mutex);
            if (!m_wake.wait(lock, stop, [this] { return !m_waiting.empty(); })) return;
            if (stop.stop_requested()) return;
            const auto first = m_waiting.begin();
            m_running = true;
            job = std::move(first->second);
            m_waiting.erase(first);
        }
        job();
        const std::scoped_lock lock(m_mutex);
        m_running = false;
    }
}

}  // namespace shardscope::desktop
