// Operations of NCCL as parts of device graphs: captured once, and reported at each replay.
//
// While a capture runs, what communicators that were split from one another are asked for goes into
// the graph: it forks from the current stream to theirs, and Work::wait() joins it again. Step
// thread.
#pragma once

#include "engine/comm/nccl/nccl_work.h"
#include "engine/control/device_runtime.h"
#include "engine/control/graph_recorder.h"
#include "engine/control/observer.h"
#include "storage/model/mutex.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shardscope::comm {

// One launch of a graph that operations of NCCL are part of.

class NcclReplay {
public:
    /// Of a graph of that `name` with so many operations.
    NcclReplay(std::shared_ptr<EventPool> events, std::string name, std::size_t operations);
    ~NcclReplay();
    NcclReplay(const NcclReplay&) = delete;
    NcclReplay& operator=(const NcclReplay&) = delete;

    [[nodiscard]] const std::string& name() const { return m_name; }

    /// The watchers have reported one of them.
    void tell();
    /// Blocks until they have reported all. Throws CommunicationError after an alarm.
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

/// The communicator whose operation is replayed: numbers it and has it watched.
class ReplayTarget {
public:
    virtual ~ReplayTarget() = default;
    /// `report` as it was captured but for step and issue.
    virtual void replayed(control::CollectiveReport report, std::shared_ptr<NcclWork> work,
                          std::shared_ptr<NcclReplay> replay) = 0;
};

/// `target` outlives the graph.
struct CapturedOperation {
    ReplayTarget* target = nullptr;
    control::CollectiveReport report;
    std::shared_ptr<CapturedWork> work;
};

class NcclGraphs final : public control::GraphRecorder {
public:
    /// `stream`: that of the communicators.
    NcclGraphs(control::DeviceRuntime& runtime, control::DeviceStream stream,
               std::shared_ptr<EventPool> events, std::shared_ptr<const Alarm> alarm);
    ~NcclGraphs() override;
    NcclGraphs(const NcclGraphs&) = delete;
    NcclGraphs& operator=(const NcclGraphs&) = delete;

    void beginCapture(std::string name) override;
    std::unique_ptr<control::RecordedGraph> endCapture() override;
    void abandonCapture() noexcept override;

    [[nodiscard]] bool capturing() const { return m_number->current() != 0; }
    [[nodiscard]] const std::shared_ptr<CaptureNumber>& number() const { return m_number; }
    /// A number by which the next one is known until it is replayed: no sequence of any group.
    [[nodiscard]] std::uint64_t nextSequence() { return ++m_sequence; }
    /// In the order in which they were captured.
    void add(CapturedOperation operation);

private:
    control::DeviceRuntime& m_runtime;
    const control::DeviceStream m_stream;
    const std::shared_ptr<EventPool> m_events;
    const std::shared_ptr<const Alarm> m_alarm;
    const control::DeviceEvent m_joined;
    const std::shared_ptr<CaptureNumber> m_number = std::make_shared<CaptureNumber>();
    std::uint64_t m_sequence;
    std::string m_name;  ///< of the capture that runs
    std::vector<CapturedOperation> m_operations;
};

}  // namespace shardscope::comm
