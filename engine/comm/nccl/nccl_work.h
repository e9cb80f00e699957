// Operations of NCCL that were queued: device events on the stream that runs them.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/control/device_runtime.h"
#include "storage/model/mutex.h"

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::comm {

// Device events for reuse: creating one is a driver call.

/// Events that operations take in turn. Outlives the communicator while Works do.
class EventPool {
public:
    explicit EventPool(control::DeviceRuntime& runtime) : m_runtime(runtime) {}
    ~EventPool() {
        for (control::DeviceEvent event : m_free) m_runtime.destroy(event);
    }
    EventPool(const EventPool&) = delete;
    EventPool& operator=(const EventPool&) = delete;

    control::DeviceEvent take() {
        const MutexLock lock(m_mutex);
        if (m_free.empty()) return m_runtime.createEvent();
        const control::DeviceEvent event = m_free.back();
        m_free.pop_back();
        return event;
    }
    void give(control::DeviceEvent event) {
        const MutexLock lock(m_mutex);
        m_free.push_back(event);
    }
    control::DeviceRuntime& runtime() { return m_runtime; }

private:
    control::DeviceRuntime& m_runtime;
    Mutex m_mutex;
    std::vector<control::DeviceEvent> m_free SHARDSCOPE_GUARDED_BY(m_mutex);
};

// That a communicator cannot go on, and why.

/// Set once by the watcher; read by every thread that waits.
class Alarm {
public:
    /// Whether it was the first.
    bool raise(std::string sentence) {
        const MutexLock lock(m_mutex);
        if (m_raised.load()) return false;
        m_sentence = std::move(sentence);
        m_raised.store(true);
        return true;
    }
    [[nodiscard]] bool raised() const { return m_raised.load(); }
    void check() const {
        if (!raised()) return;
        const MutexLock lock(m_mutex);
        throw CommunicationError(m_sentence);
    }

private:
    std::atomic<bool> m_raised{false};
    mutable Mutex m_mutex;
    std::string m_sentence SHARDSCOPE_GUARDED_BY(m_mutex);
};

// Which capture of a graph is running, for operations to know whether they are part of it.

/// Step thread. Outlives the communicator while Works do.
class CaptureNumber {
public:
    std::uint64_t begin() { return m_current = ++m_last; }
    void end() { m_current = 0; }
    /// 0: none is.
    [[nodiscard]] std::uint64_t current() const { return m_current; }

private:
    std::uint64_t m_current = 0, m_last = 0;
};

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
