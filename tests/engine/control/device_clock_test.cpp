// References of the device's clock, on a host whose time is set by hand.
#include "engine/control/device_clock.h"

#include "tests/engine/worker/scripted_device.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace shardscope::control {
namespace {

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
