// The thread that notes when operations of one communicator end, reports them to the observer, and
// raises the alarm when ranks have asked for different things, an operation has started and does
// not end, the device has failed, or NCCL itself reports an error.
#pragma once

#include "engine/comm/nccl/nccl_graphs.h"
#include "engine/comm/nccl/nccl_handles.h"
#include "engine/comm/nccl/nccl_work.h"
#include "engine/comm/operation.h"
#include "engine/control/observer.h"
#include "storage/model/mutex.h"

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace shardscope::comm {

/// A queued operation; the watcher adds its times to the report.
struct NcclOperation {
    control::CollectiveReport report;
    std::shared_ptr<NcclWork> work;
    std::shared_ptr<NcclReplay> replay{};  ///< of a graph that it is part of; null: of none

    /// Behind it; an event of a graph itself says nothing before that.
    [[nodiscard]] control::DeviceEvent end() const { return replay ? replay->ended : work->ended; }
    /// Before it.
    [[nodiscard]] control::DeviceEvent begin() const {
        return replay ? replay->launched : work->started;
    }
};

/// What is compared among ranks.
[[nodiscard]] Call callOf(const control::CollectiveReport& report);

class NcclWatcher {
public:
    /// Starts the thread; `group` and `handles` outlive the watcher.
    NcclWatcher(const NcclGroup& group, std::shared_ptr<Alarm> alarm, NcclHandles& handles);
    ~NcclWatcher() { stop(); }
    NcclWatcher(const NcclWatcher&) = delete;
    NcclWatcher& operator=(const NcclWatcher&) = delete;

    /// In the order in which operations run on the device. Any thread.
    void add(NcclOperation operation);
    /// Ends the thread: once everything has been reported, at once after an alarm.
    void stop();

private:
    using Clock = std::chrono::steady_clock;

    void watch();
    [[nodiscard]] bool await(const NcclOperation*& front);
    [[nodiscard]] bool look(const NcclOperation* front);
    // These raise the alarm before they say yes.
    [[nodiscard]] bool peerLost();
    [[nodiscard]] bool ranksDisagree(const control::CollectiveReport& report);
    [[nodiscard]] bool hung(const NcclOperation& front, Clock::time_point now);
    [[nodiscard]] control::CollectiveReport lastKnown(const NcclOperation& front);
    [[nodiscard]] bool passed(const NcclOperation& operation) const;
    [[nodiscard]] std::vector<int> missing(const control::CollectiveReport& report) const;
    void report(const NcclOperation& operation);
    void alarm(const std::string& sentence);

    const NcclGroup& m_group;
    const NcclSetup& m_setup;
    const std::shared_ptr<Alarm> m_alarm;
    NcclHandles& m_handles;

    // The thread's own.
    Clock::time_point m_nextErrorPoll = Clock::now();
    struct Running {
        Clock::time_point since, wholeSince;  ///< with all ranks, as far as is known
    };
    std::optional<Running> m_running;  ///< the front, once it was seen to run

    Mutex m_mutex;
    Condition m_wakeUp;
    std::deque<NcclOperation> m_pending
        SHARDSCOPE_GUARDED_BY(m_mutex);  ///< the front is the watcher's
    bool m_stopping SHARDSCOPE_GUARDED_BY(m_mutex) = false;
    std::thread m_thread;  // last: uses all of the above
};

}  // namespace shardscope::comm
