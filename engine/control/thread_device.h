// A device for whichever thread asks.
//
// A thread starts on device 0: its first call for another device would create a context there too,
// about 0.5 GB of device 0's memory for each rank whose watcher or outbox does so
// (https://github.com/meta-pytorch/torchcomms/pull/777). Here a thread makes the device its own
// before its first call, whichever that is.
#pragma once

#include "engine/control/device_runtime.h"

#include <atomic>
#include <cstdint>
#include <memory>

namespace shardscope::control {

class ThreadDevice : public DeviceRuntime {
public:
    /// `calls` need not know of threads, but for use(); it outlives this.
    explicit ThreadDevice(DeviceRuntime& calls) : m_calls(calls) {}

    void use() override { static_cast<void>(ours()); }
    DeviceStream currentStream() override { return ours().currentStream(); }
    DeviceStream createStream(bool highPriority) override {
        return ours().createStream(highPriority);
    }
    void computeOn(DeviceStream stream) override { ours().computeOn(stream); }
    DeviceEvent createEvent() override { return ours().createEvent(); }
    void destroy(DeviceEvent event) override { ours().destroy(event); }
    void record(DeviceEvent event, DeviceStream stream) override { ours().record(event, stream); }
    void wait(DeviceStream stream, DeviceEvent event) override { ours().wait(stream, event); }
    bool reached(DeviceEvent event) override { return ours().reached(event); }
    void synchronize(DeviceEvent event) override { ours().synchronize(event); }
    void synchronizeAll() override { ours().synchronizeAll(); }
    std::int64_t elapsedNs(DeviceEvent from, DeviceEvent to) override {
        return ours().elapsedNs(from, to);
    }
    DeviceMemory memory() override { return ours().memory(); }
    void releaseCachedMemory() override { ours().releaseCachedMemory(); }
    void beginCapture() override { ours().beginCapture(); }
    std::unique_ptr<DeviceGraph> endCapture() override { return ours().endCapture(); }
    void abandonCapture() noexcept override { m_calls.abandonCapture(); }
    void recordInGraph(DeviceEvent event, DeviceStream stream) override {
        ours().recordInGraph(event, stream);
    }

private:
    static std::uint64_t nextNumber() {
        static std::atomic<std::uint64_t> last{0};
        return ++last;
    }

    DeviceRuntime& ours() {
        thread_local std::uint64_t inUse = 0;
        if (inUse != m_number) {
            m_calls.use();
            inUse = m_number;
        }
        return m_calls;
    }

    DeviceRuntime& m_calls;
    const std::uint64_t m_number = nextNumber();  ///< addresses come again, numbers do not
};

}  // namespace shardscope::control
