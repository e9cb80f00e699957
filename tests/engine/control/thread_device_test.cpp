#include "engine/control/thread_device.h"

#include "engine/control/device_clock.h"
#include "engine/control/failure_sentence.h"
#include "tests/engine/worker/scripted_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
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

using testing::HasSubstr;
using testing::Not;

TEST(FailureSentence, IsWithoutTheStackThatLibTorchAppends) {
    const std::runtime_error torch(
        "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)\n"
        "Exception raised from meta at LinearAlgebra.cpp:209 (most recent call first):\n"
        "frame #0: c10::Error::Error() + 0x80 (0x7f in libc10.so)\nframe #1: ...");
    EXPECT_EQ(sentenceOf(torch), "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)");
    EXPECT_EQ(sentenceOf(std::runtime_error("plain words")), "plain words");
}

TEST(FailureSentence, OfNoMemorySaysWhatToDo) {
    EXPECT_THAT(sentenceOf(std::bad_alloc()), HasSubstr("lower --batch"));
}

TEST(FailureSentenceDeathTest, IsWhatAnUncaughtExceptionEndsWithOnAnyThread) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            endWithSentence("a-rank", 5);
            std::thread([] { throw std::bad_alloc(); }).join();
        },
        testing::ExitedWithCode(5), "^a-rank: out of memory.*ulimit -v");
}

// References of the device's clock, on a host whose time is set by hand.

constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t g_now = 0;  // of the host
std::int64_t now() {
    return g_now;
}

/// An answer takes a while of the host's time, during which the device's goes on as well.
class SlowDevice : public worker::ScriptedDevice {
public:
    std::int64_t answerNs = 0;

    void synchronize(DeviceEvent event) override {
        hostTakes(answerNs / 2);
        ScriptedDevice::synchronize(event);
        hostTakes(answerNs - answerNs / 2);
        g_now += answerNs;
    }
};

class DeviceClockTest : public testing::Test {
protected:
    DeviceClockTest() {
        g_now = 5 * kSecond;
        m_device.answerNs = 8'000;
    }
    void pass(std::int64_t ns) {
        g_now += ns;
        m_device.hostTakes(ns);
    }

    SlowDevice m_device;
};

TEST_F(DeviceClockTest, IsOffByNoMoreThanItSays) {
    DeviceClock clock(m_device, &now);
    EXPECT_EQ(clock.errorNs(), 4'000);
    pass(3'000'000);
    const DeviceEvent event = m_device.createEvent();
    m_device.record(event, m_device.currentStream());
    EXPECT_NEAR(static_cast<double>(clock.hostNs(event) - g_now), 0, 4'000);
}

TEST_F(DeviceClockTest, TakesANewReferenceAfterASecondOnly) {
    DeviceClock clock(m_device, &now);
    const std::int64_t before = g_now;
    clock.refresh();
    EXPECT_EQ(g_now, before) << "asked nothing";
    pass(2 * kSecond);
    clock.refresh();
    EXPECT_GT(g_now, before + 2 * kSecond);
}

TEST_F(DeviceClockTest, RemembersTheWidestOfItsReferences) {
    DeviceClock clock(m_device, &now);
    for (const std::int64_t answerNs : {2'000, 90'000, 6'000}) {
        m_device.answerNs = answerNs;
        pass(2 * kSecond);
        clock.refresh();
    }
    EXPECT_EQ(clock.errorNs(), 45'000);
}

}  // namespace
}  // namespace shardscope::control
