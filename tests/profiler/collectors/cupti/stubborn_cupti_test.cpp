// The collector against a CUPTI that hands on as little as it may.
#include "tests/profiler/collectors/cupti/stubborn_cupti.h"

#include "profiler/collectors/cupti/cupti_collector.h"
#include "tests/profiler/collectors/cupti/kept_device_events.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shardscope::collectors {
namespace {

using capture::DeviceLevel;

constexpr std::uint64_t kEpoch = 1'700'000'000'000'000'000;

cupti::ClockSample steadyClocks() {
    return {static_cast<std::int64_t>(kEpoch), 0, 0, 50};
}

/// Two threads launch, and something runs all the time but at the ends of steps.
class StubbornCuptiTest : public testing::Test {
protected:
    StubbornCuptiTest() {
        CuptiOptions options;
        options.buffers = 16;
        options.bufferBytes = 64 << 10;
        options.flushPeriod = std::chrono::hours(1);
        options.idlePeriod = std::chrono::milliseconds(0);
        options.pollPeriod = std::chrono::milliseconds(1);
        options.readClocks = &steadyClocks;
        started = startCuptiCollector(cupti, DeviceLevel::kKernels, sink, options);
    }
    ~StubbornCuptiTest() override { cupti.endHang(); }

    static constexpr std::uint64_t kStepNs = 1'000;
    /// 10 kernels of 200 ns from each of two threads, overlapping; the last still runs at the end.
    void step(std::uint64_t number) {
        const std::uint64_t begin = kEpoch + number * kStepNs;
        for (std::uint64_t i = 0; i < 10; ++i) {
            cupti.at(begin + i * 80);
            cupti.launch(1, 200);
            cupti.launch(2, 200);
        }
    }
    /// The host has waited for the step: everything of it has ended.
    void endStep(std::uint64_t number) { cupti.at(kEpoch + (number + 1) * kStepNs); }
    std::size_t count() { return sink.on("stream 7").size(); }

    StubbornCupti cupti{1000};
    KeptDeviceEvents sink;
    DeviceCollectorStart started;
};

TEST_F(StubbornCuptiTest, ABusyDeviceKeepsItsBuffers) {
    step(0);
    started.collector->flush(false);
    EXPECT_EQ(count(), 0u) << "the fake is friendlier than the real one";
}

TEST_F(StubbornCuptiTest, TheEndOfAStepBringsItsKernels) {
    for (std::uint64_t number = 0; number < 5; ++number) {
        step(number);
        endStep(number);
        started.collector->deviceIdle();
        started.collector->flush(false);  // for the decoder to have seen it
        EXPECT_EQ(count(), 20 * (number + 1));
    }
    EXPECT_EQ(started.collector->counts().untimed, 0u);
}

TEST_F(StubbornCuptiTest, AnIdleDeviceIsNotAskedAllTheTime) {
    CuptiOptions seldom;
    seldom.buffers = 4;
    seldom.flushPeriod = seldom.idlePeriod = std::chrono::hours(1);
    seldom.readClocks = &steadyClocks;
    started.collector.reset();
    started = startCuptiCollector(cupti, DeviceLevel::kKernels, sink, seldom);
    const auto flushes = [&] {
        return cupti.state([](const FakeCupti& c) { return c.flushes.size(); });
    };
    const std::size_t before = flushes();
    for (int i = 0; i < 100; ++i) started.collector->deviceIdle();
    EXPECT_EQ(flushes(), before + 1);
}

TEST_F(StubbornCuptiTest, AnUntracedDeviceIsNotAsked) {
    started.collector->setLevel(DeviceLevel::kIdle);
    const auto flushes = [&] {
        return cupti.state([](const FakeCupti& c) { return c.flushes.size(); });
    };
    const std::size_t before = flushes();
    started.collector->deviceIdle();
    EXPECT_EQ(flushes(), before);
}

TEST_F(StubbornCuptiTest, LoweredOnAnIdleDeviceEachKernelKeepsItsEnd) {
    step(0);
    endStep(0);
    started.collector->setLevel(DeviceLevel::kIdle);
    started.collector->flush(true);
    step(1);
    endStep(1);
    started.collector->setLevel(DeviceLevel::kKernels);
    started.collector->flush(true);
    ASSERT_EQ(count(), 20u);
    for (const SpanEvent& kernel : sink.on("stream 7")) EXPECT_EQ(kernel.duration.ns, 200);
}

TEST_F(StubbornCuptiTest, LoweredWhileItRunsAKernelLastsUntilTheNextTracedStep) {
    step(0);
    started.collector->setLevel(DeviceLevel::kIdle);
    endStep(0);
    step(1);
    endStep(1);
    started.collector->setLevel(DeviceLevel::kKernels);
    started.collector->flush(true);
    std::int64_t longest = 0;
    for (const SpanEvent& kernel : sink.on("stream 7"))
        longest = std::max(longest, kernel.duration.ns);
    EXPECT_GT(longest, static_cast<std::int64_t>(kStepNs)) << "why the level waits for the device";
}

TEST_F(StubbornCuptiTest, ABrokenDeviceThatHoldsAFlushIsLeftAlone) {
    step(0);
    cupti.hang();
    EXPECT_FALSE(started.collector->flush(true, std::chrono::milliseconds(20)));
    cupti.endHang();
    EXPECT_TRUE(started.collector->flush(true));
    EXPECT_EQ(count() + started.collector->counts().untimed, 20u);
}

}  // namespace
}  // namespace shardscope::collectors
