// Between threads; what is told of marks recording_observer_test looks at.
#include "engine/worker/device_backlog.h"

#include "storage/model/lanes.h"
#include "tests/engine/torch/fake_device.h"
#include "tests/engine/worker/kept_session.h"
#include "tests/engine/worker/scripted_device.h"

#include <gmock/gmock.h>

#include <atomic>
#include <set>
#include <thread>

namespace shardscope::worker {
namespace {

using testing::SizeIs;

EndedPhase forward(std::int32_t step) {
    return {{Phase::kForward, kNoLayer, Cause::kNone, 1, 2}, StepIndex{step}};
}

class DeviceBacklogTest : public testing::Test {
protected:
    KeptSession m_kept;
    KeptOutbox m_agent;
    EventNames m_names{m_kept.session};
    StepTeller m_teller{m_names, m_kept.session, m_agent.outbox};
};

TEST_F(DeviceBacklogTest, AnEmptyOneTellsNothing) {
    ScriptedDevice device;
    control::DeviceClock clock(device);
    DeviceTimeline timeline(device, clock);
    DeviceBacklog backlog(timeline, m_teller);
    backlog.tellPassed(false);
    backlog.tellPassed(true);
    EXPECT_THAT(m_kept.on(lanes::kPhases.id), SizeIs(0));
}

TEST_F(DeviceBacklogTest, TheStepThreadAddsWhileTwoOthersTellEachOnce) {
    test::FakeDevice device;
    control::DeviceClock clock(device);
    DeviceTimeline timeline(device, clock);
    DeviceBacklog backlog(timeline, m_teller);
    constexpr std::int32_t kSteps = 500;
    std::atomic<bool> running{true};
    const auto tell = [&] {
        while (running) backlog.tellPassed(false);
    };
    std::thread first(tell), second(tell);
    for (std::int32_t step = 0; step < kSteps; ++step) {
        backlog.beginPhase();
        backlog.endPhase(forward(step));
    }
    running = false;
    first.join();
    second.join();
    backlog.tellPassed(true);
    const auto spans = m_kept.on(lanes::kPhases.id);
    ASSERT_THAT(spans, SizeIs(kSteps));
    std::set<StepIndex> steps;
    for (const SpanEvent& span : spans) steps.insert(span.step);
    EXPECT_THAT(steps, SizeIs(kSteps));
}

}  // namespace
}  // namespace shardscope::worker
