// A device made of host threads: streams are threads that work off a queue, events are counters.
// The current stream is the calling thread itself, as tensor operators on a CPU run there.
//
// As with a real one, a call on a thread whose device was never set goes to device 0, and makes a
// context there: the fake refuses it. It refuses what CUDA refuses of a capture, and such a call
// spoils the capture.
#pragma once

#include "engine/control/thread_device.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace shardscope::test {

class FakeCapture;

/// The runtime's calls, on threads that chose the device.
class FakeCalls final : public control::DeviceRuntime {
public:
    /// `memory` answers what the driver would; null: nothing.
    explicit FakeCalls(std::function<control::DeviceMemory()> memory = {});
    ~FakeCalls() override;  ///< waits for what is queued
    FakeCalls(const FakeCalls&) = delete;
    FakeCalls& operator=(const FakeCalls&) = delete;

    void use() override;
    control::DeviceStream currentStream() override;
    control::DeviceStream createStream(bool highPriority) override;
    void computeOn(control::DeviceStream stream) override;
    control::DeviceEvent createEvent() override;
    void destroy(control::DeviceEvent event) override;
    void record(control::DeviceEvent event, control::DeviceStream stream) override;
    void wait(control::DeviceStream stream, control::DeviceEvent event) override;
    bool reached(control::DeviceEvent event) override;
    void synchronize(control::DeviceEvent event) override;
    void synchronizeAll() override;
    std::int64_t elapsedNs(control::DeviceEvent from, control::DeviceEvent to) override;
    control::DeviceMemory memory() override;
    void releaseCachedMemory() override;
    void beginCapture() override;
    std::unique_ptr<control::DeviceGraph> endCapture() override;
    void abandonCapture() noexcept override;
    void recordInGraph(control::DeviceEvent event, control::DeviceStream stream) override;

    void breakDown(control::DeviceFault fault, const std::string& what);
    [[nodiscard]] int liveEvents() const;
    [[nodiscard]] bool awaited() const;

private:
    void requireChosen() const;
    void requireSound() const;
    void requireNoCapture(bool byThisThread, const char* call) const;
    void requireOutside(control::DeviceEvent event, const char* call) const;
    [[nodiscard]] std::shared_ptr<FakeCapture> capture() const;
    [[nodiscard]] std::shared_ptr<FakeCapture> captureOf(control::DeviceStream stream) const;

    struct State;
    std::unique_ptr<State> m_state;
};

/// Of whichever thread asks.
class FakeDevice final : public control::ThreadDevice {
public:
    FakeDevice() : FakeDevice(std::make_unique<FakeCalls>()) {}
    explicit FakeDevice(std::function<control::DeviceMemory()> memory)
        : FakeDevice(std::make_unique<FakeCalls>(std::move(memory))) {}

    /// Runs on the stream's thread after what was queued before.
    static void queue(void* stream, std::function<void()> work);
    /// Whether the calling thread has made some device its own.
    [[nodiscard]] static bool chosenHere();
    /// From now on reached() and synchronize() throw it.
    void breakDown(control::DeviceFault fault, const std::string& what) {
        m_calls->breakDown(fault, what);
    }
    /// Events that were created and not destroyed.
    [[nodiscard]] int liveEvents() const { return m_calls->liveEvents(); }
    /// Whether nothing was marked on the current stream since the last synchronizeAll().
    [[nodiscard]] bool awaited() const { return m_calls->awaited(); }

private:
    explicit FakeDevice(std::unique_ptr<FakeCalls> calls)
        : ThreadDevice(*calls), m_calls(std::move(calls)) {}

    std::unique_ptr<FakeCalls> m_calls;
};

}  // namespace shardscope::test
