// One background thread that runs jobs, the latest of each kind. A newer job of a kind replaces a
// waiting one; a running one ends by itself, soon where its generation (storage/recording) is
// superseded. Priorities follow the kinds' order.
// submit() from the GUI thread; jobs run on its own.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>

namespace shardscope::desktop {

class JobThread {
public:
    using Job = std::function<void()>;

    /// `name`: of the thread, at most 15 characters.
    explicit JobThread(const char* name);
    ~JobThread();
    JobThread(const JobThread&) = delete;
    JobThread& operator=(const JobThread&) = delete;

    /// Lower kinds run first.
    void submit(int kind, Job job);
    /// Nothing waits and nothing runs.
    [[nodiscard]] bool isIdle() const;

private:
    void run(const std::stop_token& stop);

    mutable std::mutex m_mutex;
    std::condition_variable_any m_wake;
    std::map<int, Job> m_waiting;  // guarded by m_mutex
    bool m_running = false;        // guarded by m_mutex
    std::jthread m_thread;         // last: joins before the rest goes
};

}  // namespace shardscope::desktop
