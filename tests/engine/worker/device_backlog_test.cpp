// Between threads; what is told of marks recording_observer_test looks at.
#include "engine/worker/device_backlog.h"

#include "engine/control/captured_graph.h"
#include "storage/model/lanes.h"
#include "tests/engine/torch/fake_device.h"
#include "tests/engine/worker/kept_session.h"
#include "tests/engine/worker/scripted_device.h"

#include <gmock/gmock.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

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

/// A graph of two phases, 10 and 20 ns, with 5 between them.
class GraphPhasesTest : public DeviceBacklogTest {
protected:
    control::CapturedGraph capture() {
        control::GraphRecorder* const recorder = &m_phases;
        return {m_device, {&recorder, 1}, "the test", [this] {
                    run(forward(0), 10);
                    m_device.work(5);
                    run({{Phase::kBackward, LayerIndex{2}, Cause::kNone, 1, 2}, StepIndex{0}}, 20);
                }};
    }
    void run(const EndedPhase& phase, std::int64_t durationNs) {
        m_backlog.beginPhase();
        m_device.work(durationNs);
        m_backlog.endPhase(phase);
    }
    [[nodiscard]] std::vector<SpanEvent> told() { return m_kept.on(lanes::kPhases.id); }

    ScriptedDevice m_device;
    control::DeviceClock m_clock{m_device};
    DeviceTimeline m_timeline{m_device, m_clock};
    DeviceBacklog m_backlog{m_timeline, m_teller};
    StepLevel m_level{CaptureLevel::kFull};
    GraphPhases m_phases{m_backlog, m_level};
};

TEST_F(GraphPhasesTest, AreToldOfEachReplayWithItsStepAndTimes) {
    control::CapturedGraph graph = capture();
    m_backlog.tellPassed(true);
    EXPECT_THAT(told(), SizeIs(0)) << "nothing has run";
    for (const std::int32_t step : {3, 4}) {
        m_device.work(100);
        graph.launch(step);
    }
    m_backlog.tellPassed(true);
    const auto spans = told();
    ASSERT_THAT(spans, SizeIs(4));
    for (std::size_t i = 0; i < 4; i += 2) {
        EXPECT_EQ(spans[i].step, StepIndex{i == 0 ? 3 : 4});
        EXPECT_EQ(spans[i].phase, Phase::kForward);
        EXPECT_EQ(spans[i].duration.ns, 10);
        EXPECT_EQ(spans[i + 1].phase, Phase::kBackward);
        EXPECT_EQ(spans[i + 1].layer, LayerIndex{2});
        EXPECT_EQ(spans[i + 1].duration.ns, 20);
        EXPECT_EQ((spans[i + 1].start - spans[i].start).ns, 15);
    }
    EXPECT_EQ((spans[2].start - spans[0].start).ns, 135);
}

/// Until the device comes to them the marks say when they were passed the last time.
TEST_F(GraphPhasesTest, AreNotToldBeforeTheReplayHasPassed) {
    control::CapturedGraph graph = capture();
    graph.launch(0);
    m_device.finish();
    m_backlog.tellPassed(false);
    ASSERT_THAT(told(), SizeIs(2));
    graph.launch(1);
    m_device.advance(12);
    m_backlog.tellPassed(false);
    EXPECT_THAT(told(), SizeIs(2));
    m_device.finish();
    m_backlog.tellPassed(false);
    EXPECT_THAT(told(), SizeIs(4));
}

TEST_F(GraphPhasesTest, AreToldBeforeTheGraphIsLaunchedAgain) {
    control::CapturedGraph graph = capture();
    graph.launch(0);
    EXPECT_THAT(told(), SizeIs(0));
    graph.launch(1);
    EXPECT_THAT(told(), SizeIs(2));
}

TEST_F(GraphPhasesTest, CountAtTheLevelOfTheirReplay) {
    control::CapturedGraph graph = capture();
    m_level.decide(CaptureLevel::kSteps, DetailReason::kSchedule, CaptureLevel::kFull);
    graph.launch(0);
    m_level.decide(CaptureLevel::kFull, DetailReason::kSchedule, CaptureLevel::kFull);
    graph.launch(1);
    m_backlog.tellPassed(true);
    const auto spans = told();
    ASSERT_THAT(spans, SizeIs(2));
    EXPECT_EQ(spans[0].step, StepIndex{1});
}

TEST_F(GraphPhasesTest, MarksComeBackWhenTheGraphGoes) {
    static_cast<void>(capture());
    const std::size_t marks = m_device.liveEvents();
    for (int i = 0; i < 10; ++i) static_cast<void>(capture());
    EXPECT_EQ(m_device.liveEvents(), marks);
    EXPECT_THROW(control::CapturedGraph(m_device, std::vector<control::GraphRecorder*>{&m_phases},
                                        "the test",
                                        [this] {
                                            run(forward(0), 10);
                                            throw std::runtime_error("no");
                                        }),
                 std::runtime_error);
    EXPECT_EQ(m_device.liveEvents(), marks);
    run(forward(7), 10);
    m_backlog.tellPassed(true);
    EXPECT_THAT(told(), SizeIs(1)) << "phases are told one by one again";
}

}  // namespace
}  // namespace shardscope::worker
