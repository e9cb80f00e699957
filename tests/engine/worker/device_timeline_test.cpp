#include "engine/worker/device_timeline.h"

#include "tests/engine/torch/fake_device.h"
#include "tests/engine/worker/scripted_device.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace shardscope::worker {
namespace {

TEST(DeviceTimeline, MarksLieWhereTheQueuedWorkEnds) {
    ScriptedDevice device;
    control::DeviceClock clock(device);
    DeviceTimeline timeline(device, clock);
    const control::DeviceEvent begin = timeline.mark();
    device.work(5'000);
    const control::DeviceEvent end = timeline.mark();
    EXPECT_TRUE(timeline.passed(begin));
    EXPECT_FALSE(timeline.passed(end));
    device.advance(4'999);
    EXPECT_FALSE(timeline.passed(end));
    device.advance(1);
    EXPECT_TRUE(timeline.passed(end));
    EXPECT_EQ(timeline.hostNs(end) - timeline.hostNs(begin), 5'000);
}

TEST(DeviceTimeline, AwaitingAMarkPassesItAndNoMore) {
    ScriptedDevice device;
    control::DeviceClock clock(device);
    DeviceTimeline timeline(device, clock);
    device.work(10);
    const control::DeviceEvent first = timeline.mark();
    device.work(10);
    const control::DeviceEvent second = timeline.mark();
    timeline.await(first);
    EXPECT_TRUE(timeline.passed(first));
    EXPECT_FALSE(timeline.passed(second));
}

TEST(DeviceTimeline, UsesReleasedMarksAgainAndDestroysThemInTheEnd) {
    ScriptedDevice device;
    {
        control::DeviceClock clock(device);
        const std::size_t ofClock = device.liveEvents();
        {
            DeviceTimeline timeline(device, clock);
            for (int i = 0; i < 100; ++i) {
                const control::DeviceEvent begin = timeline.mark();
                const control::DeviceEvent end = timeline.mark();
                timeline.release(begin);
                timeline.release(end);
            }
            EXPECT_EQ(device.liveEvents(), ofClock + 2);
        }
        EXPECT_EQ(device.liveEvents(), ofClock);
    }
    EXPECT_EQ(device.liveEvents(), 0u);
}

TEST(DeviceTimeline, ABrokenDeviceIsTheCallersError) {
    ScriptedDevice device;
    control::DeviceClock clock(device);
    DeviceTimeline timeline(device, clock);
    const control::DeviceEvent mark = timeline.mark();
    device.breakDown();
    EXPECT_THROW(static_cast<void>(timeline.passed(mark)), control::DeviceError);
}

TEST(DeviceTimeline, StepThreadMarksWhileAnotherLooksThemUp) {
    test::FakeDevice device;
    {
        control::DeviceClock clock(device);
        DeviceTimeline timeline(device, clock);
        std::mutex mutex;
        std::vector<control::DeviceEvent> marks;
        constexpr int kMarks = 5'000;
        std::thread step([&] {
            for (int i = 0; i < kMarks; ++i) {
                const control::DeviceEvent mark = timeline.mark();
                const std::lock_guard lock(mutex);
                marks.push_back(mark);
            }
        });
        int looked = 0;
        while (looked < kMarks) {
            std::vector<control::DeviceEvent> ready;
            {
                const std::lock_guard lock(mutex);
                ready.swap(marks);
            }
            std::int64_t last = 0;
            for (const control::DeviceEvent mark : ready) {
                EXPECT_TRUE(timeline.passed(mark));
                EXPECT_GE(timeline.hostNs(mark), last);
                last = timeline.hostNs(mark);
            }
            for (const control::DeviceEvent mark : ready) timeline.release(mark);
            looked += static_cast<int>(ready.size());
        }
        step.join();
    }
    EXPECT_EQ(device.liveEvents(), 0);
}

/// A host that needs 15 us to queue a product and 200 us for an attention with its backward pass.
class QueuedTiming : public testing::Test {
protected:
    std::int64_t timed(std::int64_t workNs, std::int64_t otherNs) {
        return queuedNs(
            timeline,
            [&, workNs] {
                device.hostTakes(200'000);
                device.work(workNs);
            },
            [&, otherNs] {
                device.hostTakes(15'000);
                device.work(otherNs);
                ++others;
            });
    }

    ScriptedDevice device;
    control::DeviceClock clock{device};
    DeviceTimeline timeline{device, clock};
    int others = 0;
};

TEST_F(QueuedTiming, TheHostsTimeDoesNotCount) {
    EXPECT_EQ(timed(60'000, 100'000), 60'000);
    EXPECT_EQ(timed(80'000, 100'000), 80'000);
}

TEST_F(QueuedTiming, AnIdleDeviceWouldHaveToldTheHostsTime) {
    // As it was measured before: begin, once, end.
    const auto begin = timeline.mark();
    device.hostTakes(200'000);
    device.work(60'000);
    const auto end = timeline.mark();
    timeline.await(end);
    EXPECT_GE(timeline.hostNs(end) - timeline.hostNs(begin), 200'000)
        << "the fake's host is too fast for these tests";
}

TEST_F(QueuedTiming, MoreIsQueuedBeforeUntilTheDeviceIsBehind) {
    EXPECT_EQ(timed(60'000, 16'000), 60'000);
    EXPECT_GT(others, 1'000);
}

TEST_F(QueuedTiming, ADeviceThatIsAlwaysDoneEndsIt) {
    static_cast<void>(timed(1'000, 1'000));
    EXPECT_LT(others, 20'000);
}

TEST_F(QueuedTiming, MarksAreGivenBack) {
    static_cast<void>(timed(60'000, 100'000));
    const std::size_t live = device.liveEvents();
    static_cast<void>(timed(60'000, 100'000));
    EXPECT_EQ(device.liveEvents(), live);
}

}  // namespace
}  // namespace shardscope::worker
