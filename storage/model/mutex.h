// A mutex of which clang knows what it guards: `T m_x SHARDSCOPE_GUARDED_BY(m_mutex)` may be
// touched only where m_mutex is held, and a function that wants it held says
// SHARDSCOPE_REQUIRES(m_mutex). tests/tidy checks it; for other compilers these words are nothing,
// and the types cost what those of the standard library cost, which carry no such words.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define SHARDSCOPE_THREAD_WORD(word) __attribute__((word))
#else
#define SHARDSCOPE_THREAD_WORD(word)
#endif
#define SHARDSCOPE_GUARDED_BY(mutex) SHARDSCOPE_THREAD_WORD(guarded_by(mutex))
#define SHARDSCOPE_REQUIRES(...) SHARDSCOPE_THREAD_WORD(requires_capability(__VA_ARGS__))
#define SHARDSCOPE_EXCLUDES(...) SHARDSCOPE_THREAD_WORD(locks_excluded(__VA_ARGS__))

namespace shardscope {

class SHARDSCOPE_THREAD_WORD(capability("mutex")) Mutex {
public:
    void lock() SHARDSCOPE_THREAD_WORD(acquire_capability()) { m_mutex.lock(); }
    void unlock() SHARDSCOPE_THREAD_WORD(release_capability()) { m_mutex.unlock(); }

private:
    friend class MutexLock;
    std::mutex m_mutex;
};

/// Holds a mutex as long as it lives.
class SHARDSCOPE_THREAD_WORD(scoped_lockable) MutexLock {
public:
    explicit MutexLock(Mutex& mutex) SHARDSCOPE_THREAD_WORD(acquire_capability(mutex))
        : m_lock(mutex.m_mutex) {}
    // NOLINTNEXTLINE(modernize-use-equals-default): a defaulted one cannot say what it releases
    ~MutexLock() SHARDSCOPE_THREAD_WORD(release_capability()) {}
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;

private:
    friend class Condition;
    std::unique_lock<std::mutex> m_lock;
};

/// Wakes who waits for something guarded to change. Waits stand in a loop that asks for it: what a
/// lambda touches clang does not see.
class Condition {
public:
    /// Lets go of the mutex while it waits.
    void wait(MutexLock& lock) { m_condition.wait(lock.m_lock); }
    /// False: the time has come first.
    template <class Clock, class Duration>
    bool waitUntil(MutexLock& lock, const std::chrono::time_point<Clock, Duration>& time) {
        return m_condition.wait_until(lock.m_lock, time) == std::cv_status::no_timeout;
    }
    void notifyOne() { m_condition.notify_one(); }
    void notifyAll() { m_condition.notify_all(); }

private:
    std::condition_variable m_condition;
};

}  // namespace shardscope
