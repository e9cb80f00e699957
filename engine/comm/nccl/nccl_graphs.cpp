#include "engine/comm/nccl/nccl_graphs.h"

#include "engine/comm/message_numbers.h"
#include "storage/model/host_clock.h"

#include <chrono>
#include <utility>

namespace shardscope::comm {
namespace {

using control::DeviceRuntime;
using control::DeviceStream;

class RecordedOperations final : public control::RecordedGraph {
public:
    RecordedOperations(DeviceRuntime& runtime, DeviceStream stream,
                       std::shared_ptr<EventPool> events, std::shared_ptr<const Alarm> alarm,
                       std::string name, std::vector<CapturedOperation> operations)
        : m_runtime(runtime),
          m_stream(stream),
          m_events(std::move(events)),
          m_alarm(std::move(alarm)),
          m_name(std::move(name)),
          m_operations(std::move(operations)),
          m_before(m_events->take()) {}
    ~RecordedOperations() override { m_events->give(m_before); }
    RecordedOperations(const RecordedOperations&) = delete;
    RecordedOperations& operator=(const RecordedOperations&) = delete;

    void awaitReported() override {
        if (m_replay) m_replay->await(*m_alarm);
        m_replay.reset();
    }

    void beforeLaunch() override {
        m_alarm->check();
        const DeviceStream current = m_runtime.currentStream();
        m_runtime.record(m_before, m_stream);
        m_runtime.wait(current, m_before);
        if (m_operations.empty()) return;
        m_replay = std::make_shared<NcclReplay>(m_events, m_name, m_operations.size());
        m_runtime.record(m_replay->launched, current);
    }

    void launched(std::int32_t step) override {
        if (!m_replay) return;
        m_runtime.record(m_replay->ended, m_runtime.currentStream());
        for (const CapturedOperation& operation : m_operations) {
            control::CollectiveReport report = operation.report;
            report.step = step;
            report.issueNs = hostNow();
            operation.target->replayed(report, operation.work, m_replay);
        }
    }

private:
    DeviceRuntime& m_runtime;
    const DeviceStream m_stream;
    const std::shared_ptr<EventPool> m_events;
    const std::shared_ptr<const Alarm> m_alarm;
    const std::string m_name;
    const std::vector<CapturedOperation> m_operations;
    const control::DeviceEvent m_before;   ///< re-recorded for each launch
    std::shared_ptr<NcclReplay> m_replay;  ///< the last one; null: it was reported
};

/// An alarm is raised without a word to who waits here.
constexpr std::chrono::milliseconds kAlarmPoll{10};

}  // namespace

NcclGraphs::NcclGraphs(DeviceRuntime& runtime, DeviceStream stream,
                       std::shared_ptr<EventPool> events, std::shared_ptr<const Alarm> alarm)
    : m_runtime(runtime),
      m_stream(stream),
      m_events(std::move(events)),
      m_alarm(std::move(alarm)),
      m_joined(m_events->take()),
      m_sequence(MessageNumbers::kFirst / 2) {}

NcclGraphs::~NcclGraphs() {
    m_events->give(m_joined);
}

void NcclGraphs::beginCapture(std::string name) {
    m_alarm->check();
    m_name = std::move(name);
    m_number->begin();
}

std::unique_ptr<control::RecordedGraph> NcclGraphs::endCapture() {
    if (!m_operations.empty()) {
        m_runtime.record(m_joined, m_stream);
        m_runtime.wait(m_runtime.currentStream(), m_joined);
    }
    m_number->end();
    return std::make_unique<RecordedOperations>(m_runtime, m_stream, m_events, m_alarm, m_name,
                                                std::exchange(m_operations, {}));
}

void NcclGraphs::abandonCapture() noexcept {
    m_number->end();
    m_operations.clear();
}

void NcclGraphs::add(CapturedOperation operation) {
    m_operations.push_back(std::move(operation));
}

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
