#include "storage/recording/file/worker_pool.h"

#include <algorithm>
#include <utility>

namespace shardscope::storage {
namespace {

/// Jobs that wait for each thread: enough that none runs dry, few enough to hold in memory.
constexpr std::size_t kWaitingAThread = 4;

}  // namespace

WorkerPool::WorkerPool(std::size_t threads)
    : m_threads(threads != 0 ? threads
                             : std::max<std::size_t>(1, std::thread::hardware_concurrency())) {}

WorkerPool::~WorkerPool() {
    {
        const std::scoped_lock lock(m_mutex);
        m_stopping = true;
        m_jobs.clear();
    }
    m_submitted.notify_all();
    for (std::thread& worker : m_workers) worker.join();
}

void WorkerPool::start() {
    while (m_workers.size() + 1 < m_threads) m_workers.emplace_back([this] { work(); });
}

void WorkerPool::submit(Job job) {
    std::unique_lock lock(m_mutex);
    m_jobs.push_back(std::move(job));
    if (m_threads == 1) return runOne(lock);
    // A single job is not worth waking a thread for: wait() will do it.
    if (m_jobs.size() < 2 && m_running == 0) return;
    if (m_workers.empty()) start();
    if (m_jobs.size() > m_threads * kWaitingAThread) runOne(lock);
    lock.unlock();
    m_submitted.notify_one();
}

std::exception_ptr WorkerPool::drain() {
    std::unique_lock lock(m_mutex);
    if (m_jobs.size() > 1 && !m_workers.empty()) m_submitted.notify_all();
    while (!m_jobs.empty()) runOne(lock);
    m_finished.wait(lock, [this] { return m_running == 0; });
    return std::exchange(m_failure, nullptr);
}

void WorkerPool::wait() {
    if (const std::exception_ptr failure = drain()) std::rethrow_exception(failure);
}

void WorkerPool::runOne(std::unique_lock<std::mutex>& lock) {
    const Job job = std::move(m_jobs.front());
    m_jobs.pop_front();
    ++m_running;
    lock.unlock();
    std::exception_ptr failure;
    try {
        job();
    } catch (...) {
        failure = std::current_exception();
    }
    lock.lock();
    if (failure && !m_failure) m_failure = failure;
    if (--m_running == 0 && m_jobs.empty()) m_finished.notify_all();
}

void WorkerPool::work() {
    std::unique_lock lock(m_mutex);
    while (true) {
        m_submitted.wait(lock, [this] { return m_stopping || !m_jobs.empty(); });
        if (m_stopping) return;
        runOne(lock);
    }
}

}  // namespace shardscope::storage
