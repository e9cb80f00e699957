#include "engine/worker/device_timeline.h"
#include "tests/engine/worker/scripted_device.h"

#include <gtest/gtest.h>

namespace shardscope::worker {
namespace {

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
