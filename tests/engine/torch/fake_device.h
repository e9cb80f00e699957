// A device made of host threads: streams are threads that work off a queue, events are counters.
// The current stream is the calling thread itself, as tensor operators on a CPU run there.
#pragma once

#include "engine/control/device_runtime.h"

#include <functional>
#include <memory>

namespace shardscope::test {

class FakeDevice final : public control::DeviceRuntime {
public:
    FakeDevice();
    ~FakeDevice() override;  ///< waits for what is queued
    FakeDevice(const FakeDevice&) = delete;
    FakeDevice& operator=(const FakeDevice&) = delete;

    control::DeviceStream currentStream() override { return {}; }
    control::DeviceStream createStream(bool highPriority) override;
    control::DeviceEvent createEvent() override;
    void destroy(control::DeviceEvent event) override;
    void record(control::DeviceEvent event, control::DeviceStream stream) override;
    void wait(control::DeviceStream stream, control::DeviceEvent event) override;
    bool reached(control::DeviceEvent event) override;
    void synchronize(control::DeviceEvent event) override;
    std::int64_t elapsedNs(control::DeviceEvent from, control::DeviceEvent to) override;
    control::DeviceMemory memory() override { return {}; }

    /// Runs on the stream's thread after what was queued before.
    static void queue(void* stream, std::function<void()> work);
    /// From now on reached() and synchronize() throw it.
    void breakDown(control::DeviceFault fault, const std::string& what);
    /// Events that were created and not destroyed.
    [[nodiscard]] int liveEvents() const;

private:
    void throwWhenBroken() const;

    struct State;
    std::unique_ptr<State> m_state;
};

}  // namespace shardscope::test
