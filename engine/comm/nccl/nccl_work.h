// Operations of NCCL that were queued: device events on the stream that runs them.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/comm/nccl/alarm.h"
#include "engine/comm/nccl/event_pool.h"

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

namespace shardscope::comm {

class NcclWork : public WorkState {
public:
    NcclWork(std::shared_ptr<EventPool> events, std::shared_ptr<const Alarm> alarm)
        : m_events(std::move(events)),
          m_alarm(std::move(alarm)),
          started(m_events->take()),
          ended(m_events->take()) {}
    ~NcclWork() override {
        m_events->give(started);
        m_events->give(ended);
    }
    NcclWork(const NcclWork&) = delete;
    NcclWork& operator=(const NcclWork&) = delete;

    bool ready() const override {
        m_alarm->check();
        return m_events->runtime().reached(ended);
    }
    void wait() override {
        m_alarm->check();
        m_events->runtime().wait(m_events->runtime().currentStream(), ended);
    }

private:
    std::shared_ptr<EventPool> m_events;
    std::shared_ptr<const Alarm> m_alarm;

public:
    const control::DeviceEvent started, ended;
};

/// Brings the result of a small all-reduce back to the host.
class SmallWork final : public NcclWork {
public:
    SmallWork(std::shared_ptr<EventPool> events, std::shared_ptr<const Alarm> alarm,
              at::Tensor device, std::span<double> values)
        : NcclWork(std::move(events), std::move(alarm)),
          m_device(std::move(device)),
          m_values(values) {}

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
