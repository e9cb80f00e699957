// One background thread that runs jobs, the latest of each kind. A newer job of a kind
// replaces a waiting one and asks a running one to stop; priorities follow the kinds' order.
// submit() from the GUI thread; jobs run on the thread named "loader".
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
    using Job = std::function<void(const std::stop_token&)>;

    JobThread();
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
    std::stop_source m_running;    // guarded by m_mutex
    int m_runningKind = -1;        // guarded by m_mutex
    std::jthread m_thread;         // last: joins before the rest goes
};

}  // namespace shardscope::desktop
