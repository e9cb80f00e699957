// A few threads for work that splits into independent jobs; the submitting thread works along.
//
// submit() and wait() belong to one thread. Threads start when there is work for more than one and
// idle until the pool goes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace shardscope::storage {

class WorkerPool {
public:
    using Job = std::function<void()>;

    /// At most `threads` work at once, the submitting one among them; 0 is as many as the hardware
    /// has, and never more than that is useful.
    explicit WorkerPool(std::size_t threads = 0);
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    [[nodiscard]] std::size_t threads() const { return m_threads; }

    /// Runs `job` at some time before wait() returns; at once where there are no other threads.
    /// Where much waits already the submitting thread does a job first, so that memory is bounded.
    void submit(Job job);
    /// Works along until every job is done. Rethrows the first exception that one of them threw.
    void wait();

    /// Waits at the end of a scope whose jobs refer to what lives in it; for when it is left by an
    /// exception, so those of jobs are dropped.
    class Drain {
    public:
        explicit Drain(WorkerPool& pool) : m_pool(pool) {}
        ~Drain() { m_pool.drain(); }
        Drain(const Drain&) = delete;
        Drain& operator=(const Drain&) = delete;

    private:
        WorkerPool& m_pool;
    };

private:
    std::exception_ptr drain();
    void work();
    void start();
    /// Takes the oldest job and runs it; the lock is held before and after.
    void runOne(std::unique_lock<std::mutex>& lock);

    std::size_t m_threads;
    std::mutex m_mutex;
    std::condition_variable m_submitted;
    std::condition_variable m_finished;
    std::deque<Job> m_jobs;        // guarded by m_mutex, like all below
    std::size_t m_running = 0;     ///< jobs in progress
    std::exception_ptr m_failure;  ///< the first since wait()
    bool m_stopping = false;
    std::vector<std::thread> m_workers;
};

}  // namespace shardscope::storage
