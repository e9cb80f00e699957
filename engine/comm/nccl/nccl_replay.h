// One launch of a graph that operations of NCCL are part of.
#pragma once

#include "engine/comm/nccl/alarm.h"
#include "engine/comm/nccl/event_pool.h"
#include "storage/model/mutex.h"

#include <cstddef>
#include <memory>
#include <string>

namespace shardscope::comm {

class NcclReplay {
public:
    /// Of a graph of that `name` with so many operations.
    NcclReplay(std::shared_ptr<EventPool> events, std::string name, std::size_t operations);
    ~NcclReplay();
    NcclReplay(const NcclReplay&) = delete;
    NcclReplay& operator=(const NcclReplay&) = delete;

    [[nodiscard]] const std::string& name() const { return m_name; }

    /// The watchers have told of one of them.
    void tell();
    /// Blocks until they have told of all. Throws CommunicationError after an alarm.
    void await(const Alarm& alarm);

private:
    const std::shared_ptr<EventPool> m_events;
    const std::string m_name;
    Mutex m_mutex;
    Condition m_changed;
    std::size_t m_unknown SHARDSCOPE_GUARDED_BY(m_mutex);

public:
    /// Around the launch, on its stream: what is between lies in the graph's own events, which may
    /// be looked at once `ended` was reached.
    const control::DeviceEvent launched, ended;
};

}  // namespace shardscope::comm
