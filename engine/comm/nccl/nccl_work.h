// Operations of NCCL that were queued: device events on the stream that runs them.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/comm/nccl/alarm.h"
#include "engine/comm/nccl/capture_number.h"
#include "engine/comm/nccl/event_pool.h"

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace shardscope::comm {

/// What works share with each other.
struct NcclWorkParts {
    std::shared_ptr<EventPool> events;
    std::shared_ptr<const Alarm> alarm;
    std::shared_ptr<const CaptureNumber> capture;
};

class NcclWork : public WorkState {
public:
    explicit NcclWork(NcclWorkParts parts)
        : m_parts(std::move(parts)),
          started(m_parts.events->take()),
          ended(m_parts.events->take()) {}
    ~NcclWork() override {
        m_parts.events->give(started);
        m_parts.events->give(ended);
    }
    NcclWork(const NcclWork&) = delete;
    NcclWork& operator=(const NcclWork&) = delete;

    // A graph is launched after all that was queued before it: inside a capture nothing of that is
    // waited for, nor may its events be asked.
    bool ready() const override {
        m_parts.alarm->check();
        return m_parts.capture->current() != 0 || runtime().reached(ended);
    }
    void wait() override {
        m_parts.alarm->check();
        if (m_parts.capture->current() == 0) runtime().wait(runtime().currentStream(), ended);
    }

protected:
    [[nodiscard]] control::DeviceRuntime& runtime() const { return m_parts.events->runtime(); }

    const NcclWorkParts m_parts;

public:
    const control::DeviceEvent started, ended;
};

/// Part of a graph: each replay records its `started` and `ended` anew. Who waits for it outside of
/// the capture waits for nothing: the current stream goes on after the whole graph.
class CapturedWork final : public NcclWork {
public:
    explicit CapturedWork(NcclWorkParts parts)
        : NcclWork(std::move(parts)),
          joined(m_parts.events->take()),
          m_capture(m_parts.capture->current()) {}
    ~CapturedWork() override { m_parts.events->give(joined); }

    bool ready() const override {
        m_parts.alarm->check();
        return m_parts.capture->current() != m_capture;
    }
    void wait() override {
        m_parts.alarm->check();
        if (m_parts.capture->current() == m_capture)
            runtime().wait(runtime().currentStream(), joined);
    }

    const control::DeviceEvent joined;  ///< behind it, inside the capture

private:
    const std::uint64_t m_capture;
};

/// Brings the result of a small all-reduce back to the host.
class SmallWork final : public NcclWork {
public:
    SmallWork(NcclWorkParts parts, at::Tensor device, std::span<double> values)
        : NcclWork(std::move(parts)), m_device(std::move(device)), m_values(values) {}

    void wait() override {
        NcclWork::wait();
        const at::DisableRecordFunctionGuard bookkeeping;
        const at::Tensor host = m_device.cpu();  // waits for the current stream
        std::copy_n(host.const_data_ptr<double>(), m_values.size(), m_values.begin());
    }

private:
    const at::Tensor m_device;
    const std::span<double> m_values;
};

}  // namespace shardscope::comm
