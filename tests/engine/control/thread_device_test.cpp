#include "engine/control/thread_device.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace shardscope::control {
namespace {

thread_local const void* t_chosen = nullptr;

/// As CUDA's runtime: calls go to the thread's device, which is 0 until it is set.
class StrictCalls final : public DeviceRuntime {
public:
    void use() override {
        t_chosen = this;
        ++uses;
    }
    DeviceStream currentStream() override { return note(DeviceStream{}); }
    DeviceStream createStream(bool) override { return note(DeviceStream{}); }
    DeviceEvent createEvent() override { return note(DeviceEvent{}); }
    void destroy(DeviceEvent) override { note(0); }
    void record(DeviceEvent, DeviceStream) override { note(0); }
    void wait(DeviceStream, DeviceEvent) override { note(0); }
    bool reached(DeviceEvent) override { return note(true); }
    void synchronize(DeviceEvent) override { note(0); }
    void synchronizeAll() override { note(0); }
    std::int64_t elapsedNs(DeviceEvent, DeviceEvent) override { return note(std::int64_t{5}); }
    DeviceMemory memory() override { return note(DeviceMemory{}); }
    void computeOn(DeviceStream) override { note(0); }
    void releaseCachedMemory() override { note(0); }
    void beginCapture() override { note(0); }
    std::unique_ptr<DeviceGraph> endCapture() override {
        note(0);
        return nullptr;
    }
    void abandonCapture() noexcept override {}  // of the thread that began it
    void recordInGraph(DeviceEvent, DeviceStream) override { note(0); }

    int calls = 0;
    int uses = 0;
    int onDevice0 = 0;  ///< each made a context there

private:
    template <class Value>
    Value note(Value value) {
        ++calls;
        if (t_chosen != this) ++onDevice0;
        return value;
    }
};

const std::vector<std::function<void(DeviceRuntime&)>> kEveryCall = {
    [](DeviceRuntime& r) { static_cast<void>(r.currentStream()); },
    [](DeviceRuntime& r) { static_cast<void>(r.createStream(true)); },
    [](DeviceRuntime& r) { static_cast<void>(r.createEvent()); },
    [](DeviceRuntime& r) { r.destroy({}); },
    [](DeviceRuntime& r) { r.record({}, {}); },
    [](DeviceRuntime& r) { r.wait({}, {}); },
    [](DeviceRuntime& r) { EXPECT_TRUE(r.reached({})); },
    [](DeviceRuntime& r) { r.synchronize({}); },
    [](DeviceRuntime& r) { r.synchronizeAll(); },
    [](DeviceRuntime& r) { EXPECT_EQ(r.elapsedNs({}, {}), 5); },
    [](DeviceRuntime& r) { static_cast<void>(r.memory()); },
    [](DeviceRuntime& r) { r.computeOn({}); },
    [](DeviceRuntime& r) { r.releaseCachedMemory(); },
    [](DeviceRuntime& r) { r.beginCapture(); },
    [](DeviceRuntime& r) { EXPECT_EQ(r.endCapture(), nullptr); },
    [](DeviceRuntime& r) { r.recordInGraph({}, {}); },
};

void onAThreadOfItsOwn(const std::function<void()>& body) {
    std::thread(body).join();
}

TEST(ThreadDevice, WhateverAThreadCallsFirstGoesToItsDevice) {
    StrictCalls calls;
    ThreadDevice device(calls);
    for (const auto& call : kEveryCall) onAThreadOfItsOwn([&] { call(device); });
    EXPECT_EQ(calls.calls, static_cast<int>(kEveryCall.size()));
    EXPECT_EQ(calls.onDevice0, 0);
}

TEST(ThreadDevice, AThreadChoosesItOnce) {
    StrictCalls calls;
    ThreadDevice device(calls);
    onAThreadOfItsOwn([&] {
        device.use();
        for (const auto& call : kEveryCall) call(device);
        device.use();
    });
    EXPECT_EQ(calls.uses, 1);
}

TEST(ThreadDevice, OneThatTakesTheAddressOfAnotherIsChosenAnew) {
    StrictCalls first, second;
    onAThreadOfItsOwn([&] {
        std::optional<ThreadDevice> device;
        device.emplace(first);
        device->synchronize({});
        device.emplace(second);
        device->synchronize({});
    });
    EXPECT_EQ(first.uses, 1);
    EXPECT_EQ(second.uses, 1);
    EXPECT_EQ(second.onDevice0, 0);
}

}  // namespace
}  // namespace shardscope::control
