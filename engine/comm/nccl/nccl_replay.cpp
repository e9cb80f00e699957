#include "engine/comm/nccl/nccl_replay.h"

#include <chrono>
#include <utility>

namespace shardscope::comm {
namespace {

/// An alarm is raised without a word to who waits here.
constexpr std::chrono::milliseconds kAlarmPoll{10};

}  // namespace

NcclReplay::NcclReplay(std::shared_ptr<EventPool> events, std::string name, std::size_t operations)
    : m_events(std::move(events)),
      m_name(std::move(name)),
      m_unknown(operations),
      launched(m_events->take()),
      ended(m_events->take()) {}

NcclReplay::~NcclReplay() {
    m_events->give(launched);
    m_events->give(ended);
}

void NcclReplay::tell() {
    {
        const MutexLock lock(m_mutex);
        --m_unknown;
    }
    m_changed.notifyAll();
}

void NcclReplay::await(const Alarm& alarm) {
    MutexLock lock(m_mutex);
    while (m_unknown > 0) {
        alarm.check();
        m_changed.waitUntil(lock, std::chrono::steady_clock::now() + kAlarmPoll);
    }
}

}  // namespace shardscope::comm
