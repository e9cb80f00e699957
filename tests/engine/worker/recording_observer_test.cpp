// Phases and steps of a GPU rank, on a device whose progress the test decides.
#include "engine/worker/recording_observer.h"

#include "engine/control/captured_graph.h"
#include "profiler/capture/device_annotation.h"
#include "storage/model/step_facts.h"
#include "tests/engine/worker/kept_session.h"
#include "tests/engine/worker/scripted_device.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

run::RunConfig singleRank() {
    run::RunConfig config;
    config.ranks = 1;
    config.strategy = run::Strategy::kSingle;
    return config;
}

class ObserverTest : public testing::Test {
protected:
    ~ObserverTest() override { capture::threadContext() = {}; }

    /// A phase whose host times say only that it was queued.
    void phase(Phase phase, std::int64_t durationNs, LayerIndex layer = kNoLayer) {
        m_observer.phaseBegin(phase, layer);
        m_device.work(durationNs);
        m_observer.phaseEnd({phase, layer, Cause::kNone, 1, 2});
    }
    void endStep(std::int32_t step) { m_observer.stepEnd({step, 1, 2, 1024}); }
    std::vector<std::int64_t> durations(LaneId lane) {
        std::vector<std::int64_t> list;
        for (const SpanEvent& span : m_kept.on(lane)) list.push_back(span.duration.ns);
        return list;
    }

    ScriptedDevice m_device;
    control::DeviceClock m_clock{m_device};
    DeviceTimeline m_timeline{m_device, m_clock};
    KeptSession m_kept;
    KeptOutbox m_agent;
    RecordingObserver m_observer{singleRank(), RankId{0}, m_kept.session, m_agent.outbox};
};

class DeviceObserverTest : public ObserverTest {
protected:
    DeviceObserverTest() { m_observer.timeOn(m_timeline); }
};

TEST_F(ObserverTest, WithoutADeviceTellsAtOnceInTheHostsTimes) {
    m_observer.stepBegin(0);
    m_observer.phaseBegin(Phase::kForward, LayerIndex{2});
    m_observer.phaseEnd({Phase::kForward, LayerIndex{2}, Cause::kNone, 1000, 1700});
    const auto spans = m_kept.on(lanes::kPhases.id);
    ASSERT_THAT(spans, SizeIs(1));
    EXPECT_EQ(spans[0].start.ns, 1000);
    EXPECT_EQ(spans[0].duration.ns, 700);
    EXPECT_EQ(spans[0].layer, LayerIndex{2});
}

TEST_F(ObserverTest, SaysWhatTheStepThreadIsAt) {
    m_observer.stepBegin(5);
    EXPECT_EQ(m_observer.place().seen().step, StepIndex{5});
    EXPECT_EQ(m_observer.place().seen().phase, Phase::kNone);
    m_observer.phaseBegin(Phase::kBackward, LayerIndex{1});
    EXPECT_EQ(m_observer.place().seen().phase, Phase::kBackward);
    EXPECT_EQ(m_observer.place().seen().layer, LayerIndex{1});
    m_observer.phaseEnd({Phase::kBackward, LayerIndex{1}, Cause::kNone, 1, 2});
    endStep(5);
    EXPECT_EQ(m_observer.place().seen().phase, Phase::kNone);
    EXPECT_EQ(m_observer.place().seen().step, StepIndex{5}) << "the last one";
}

TEST_F(ObserverTest, TellsWhatAStepWaitedForACore) {
    for (const std::int32_t step : {0, 1}) {
        m_observer.stepBegin(step);
        endStep(step);
    }
    const auto steps = m_agent.posted<run::StepDone>();
    ASSERT_THAT(steps, SizeIs(2));
    for (const run::StepDone& done : steps) {
        EXPECT_GE(done.step.coreWaitNs, 0) << "this kernel does not count it";
        EXPECT_GE(done.step.stolenNs, 0);
    }
}

TEST_F(DeviceObserverTest, WhatEndedWhileCapturedIsToldWhateverIsDecidedUntilThen) {
    m_observer.stepBegin(0);
    phase(Phase::kForward, 5'000);
    endStep(0);
    m_observer.level().decide(CaptureLevel::kSteps, DetailReason::kSchedule, CaptureLevel::kFull);
    m_observer.stepBegin(1);
    phase(Phase::kForward, 7'000);
    endStep(1);
    m_observer.level().decide(CaptureLevel::kFull, DetailReason::kSchedule, CaptureLevel::kFull);
    m_device.finish();
    m_observer.tellPassed(true);
    EXPECT_THAT(durations(lanes::kPhases.id), ElementsAre(5'000));
    EXPECT_THAT(m_agent.posted<run::StepDone>(), SizeIs(2));
}

TEST_F(DeviceObserverTest, PhasesTakeTheTimesOfTheDevice) {
    m_observer.stepBegin(3);
    phase(Phase::kForward, 5'000, LayerIndex{0});
    phase(Phase::kForward, 7'000, LayerIndex{1});
    m_device.finish();
    m_observer.tellPassed(false);
    const auto spans = m_kept.on(lanes::kPhases.id);
    ASSERT_THAT(spans, SizeIs(2));
    EXPECT_EQ(spans[0].duration.ns, 5'000);
    EXPECT_EQ(spans[1].duration.ns, 7'000);
    EXPECT_EQ(spans[1].start, spans[0].end());
    EXPECT_EQ(spans[0].step, StepIndex{3});
    EXPECT_EQ(spans[1].layer, LayerIndex{1});
    EXPECT_EQ(spans[1].phase, Phase::kForward);
}

TEST_F(DeviceObserverTest, WhatTheDeviceHasNotPassedIsNotTold) {
    m_observer.stepBegin(0);
    phase(Phase::kForward, 100);
    phase(Phase::kHead, 100);
    phase(Phase::kBackward, 100);
    m_observer.tellPassed(false);
    EXPECT_THAT(m_kept.on(lanes::kPhases.id), IsEmpty());
    m_device.advance(250);
    m_observer.tellPassed(false);
    EXPECT_THAT(durations(lanes::kPhases.id), SizeIs(2));
    m_device.finish();
    m_observer.tellPassed(false);
    const auto spans = m_kept.on(lanes::kPhases.id);
    ASSERT_THAT(spans, SizeIs(3));
    EXPECT_EQ(spans[2].phase, Phase::kBackward);
    m_observer.tellPassed(false);
    EXPECT_THAT(durations(lanes::kPhases.id), SizeIs(3)) << "told twice";
}

TEST_F(DeviceObserverTest, EverythingWaitsForTheDevice) {
    m_observer.stepBegin(0);
    phase(Phase::kForward, 100);
    phase(Phase::kBackward, 300);
    endStep(0);
    m_observer.tellPassed(true);
    EXPECT_THAT(durations(lanes::kPhases.id), ElementsAre(100, 300));
    EXPECT_THAT(m_agent.posted<run::StepDone>(), SizeIs(1));
}

TEST_F(DeviceObserverTest, AStepLastsFromItsFirstWorkToItsLast) {
    m_device.work(10'000);  // of the step before
    m_observer.stepBegin(4);
    phase(Phase::kForward, 600);
    m_device.work(50);  // between phases
    phase(Phase::kWaitGather, 200);
    phase(Phase::kBackward, 900);
    phase(Phase::kOptimizer, 100);
    endStep(4);
    m_observer.tellPassed(true);
    const auto lane = m_kept.on(lanes::kSteps.id);
    // The step, and its stretches: what is waited for belongs to where it happens.
    ASSERT_THAT(lane, SizeIs(4));
    EXPECT_EQ(lane[0].duration.ns, 1850);
    EXPECT_EQ(lane[0].depth, 0);
    EXPECT_EQ(lane[1].duration.ns, 850);
    EXPECT_EQ(lane[2].duration.ns, 900);
    EXPECT_EQ(lane[3].duration.ns, 100);
    const auto steps = m_agent.posted<run::StepDone>();
    ASSERT_THAT(steps, SizeIs(1));
    EXPECT_EQ(steps[0].step.step, StepIndex{4});
    EXPECT_EQ((steps[0].step.end - steps[0].step.start).ns, 1850);
    EXPECT_EQ(steps[0].step.tokens, 1024);
    EXPECT_EQ(steps[0].exposedCommunication.ns, 200);
}

TEST_F(DeviceObserverTest, StepsComeInOrderWhileTheHostRunsAhead) {
    for (std::int32_t step = 0; step < 5; ++step) {
        m_observer.stepBegin(step);
        phase(Phase::kForward, 100 * (step + 1));
        endStep(step);
    }
    m_device.advance(100 + 200 + 50);
    m_observer.tellPassed(false);
    EXPECT_THAT(durations(lanes::kPhases.id), ElementsAre(100, 200));
    m_observer.tellPassed(true);
    EXPECT_THAT(durations(lanes::kPhases.id), ElementsAre(100, 200, 300, 400, 500));
    const auto steps = m_agent.posted<run::StepDone>();
    ASSERT_THAT(steps, SizeIs(5));
    for (std::int32_t step = 0; step < 5; ++step) {
        EXPECT_EQ(steps[static_cast<std::size_t>(step)].step.step, StepIndex{step});
        EXPECT_EQ((steps[static_cast<std::size_t>(step)].step.end -
                   steps[static_cast<std::size_t>(step)].step.start)
                      .ns,
                  100 * (step + 1));
    }
}

TEST_F(DeviceObserverTest, MarksAreReleased) {
    const std::size_t before = m_device.liveEvents();
    for (std::int32_t step = 0; step < 50; ++step) {
        m_observer.stepBegin(step);
        phase(Phase::kForward, 10);
        phase(Phase::kBackward, 10);
        endStep(step);
        m_observer.tellPassed(true);
    }
    EXPECT_EQ(m_device.liveEvents(), before + 6);
}

TEST_F(DeviceObserverTest, ABrokenDeviceIsTheCallersErrorAndTellsNothingWrong) {
    m_observer.stepBegin(0);
    phase(Phase::kForward, 100);
    m_device.finish();
    m_observer.tellPassed(false);
    phase(Phase::kBackward, 100);
    m_device.breakDown();
    EXPECT_THROW(m_observer.tellPassed(false), control::DeviceError);
    EXPECT_THROW(m_observer.tellPassed(true), control::DeviceError);
    EXPECT_THAT(durations(lanes::kPhases.id), ElementsAre(100));
}

TEST_F(DeviceObserverTest, MemoryOfAStepIsItsPeakOnTheDevice) {
    m_observer.account().readDevicePeakBy([] { return std::int64_t{123'456}; });
    m_observer.stepBegin(0);
    endStep(0);
    m_observer.tellPassed(true);
    EXPECT_EQ(m_agent.posted<run::StepDone>().at(0).memoryInUse.count, 123'456);
}

TEST_F(DeviceObserverTest, LowLevelsTimeStepsWithoutPhases) {
    m_observer.level().decide(CaptureLevel::kSteps, DetailReason::kSchedule, CaptureLevel::kSteps);
    m_observer.stepBegin(0);
    phase(Phase::kForward, 100);
    phase(Phase::kWaitReduction, 40);
    endStep(0);
    m_observer.tellPassed(true);
    EXPECT_THAT(m_kept.on(lanes::kPhases.id), IsEmpty());
    const auto steps = m_agent.posted<run::StepDone>();
    ASSERT_THAT(steps, SizeIs(1));
    EXPECT_EQ(steps[0].exposedCommunication.ns, 40);
    EXPECT_EQ(steps[0].step.expectedPhases, StepFacts{}.expectedPhases) << "promises none";
}

TEST_F(DeviceObserverTest, BelowLightOnlyWaitsAndStepsAreMarked) {
    const auto marksOfAStep = [&](CaptureLevel level) {
        m_observer.level().decide(level, DetailReason::kSchedule, level);
        m_observer.stepBegin(0);
        const std::size_t before = m_device.recorded();
        for (int i = 0; i < 10; ++i) phase(Phase::kForward, 100);
        phase(Phase::kWaitOther, 10);
        const std::size_t marks = m_device.recorded() - before;
        endStep(0);
        return marks;
    };
    EXPECT_EQ(marksOfAStep(CaptureLevel::kFull), 22u);
    EXPECT_EQ(marksOfAStep(CaptureLevel::kLight), 22u);
    EXPECT_EQ(marksOfAStep(CaptureLevel::kSteps), 2u);
    EXPECT_EQ(marksOfAStep(CaptureLevel::kOff), 2u);
}

TEST_F(DeviceObserverTest, TellsWhenTheDeviceIsIdle) {
    m_observer.deviceIdle();  // nobody wants to know
    EXPECT_FALSE(m_observer.wantsIdle());
    int times = 0;
    bool wanted = false;
    m_observer.watchIdle([&] { return wanted; }, [&] { ++times; });
    EXPECT_FALSE(m_observer.wantsIdle());
    wanted = true;
    EXPECT_TRUE(m_observer.wantsIdle());
    m_observer.deviceIdle();
    EXPECT_EQ(times, 1);
}

TEST_F(DeviceObserverTest, CollectivesGoToTheJoinAndAreDrawnWhenItStoresThem) {
    std::optional<CollectiveEvent> taken;
    m_observer.collectives().handTo(
        [&](const CollectiveEvent& event, std::uint64_t) { taken = event; });
    control::CollectiveReport report;
    report.operation = CollectiveOp::kAllGather;
    report.sequence = 9;
    report.sizeBytes = 4096;
    report.startNs = 100;
    report.endNs = 300;
    m_observer.collective(report);
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->sequence, 9u);
    EXPECT_THAT(m_kept.on(lanes::kCommunication.id), IsEmpty());
    EXPECT_THAT(m_kept.collectives, IsEmpty());
    taken->start = {150};
    m_observer.collectives().store(*taken);
    const auto drawn = m_kept.on(lanes::kCommunication.id);
    ASSERT_THAT(drawn, SizeIs(1));
    EXPECT_EQ(drawn[0].start.ns, 150);
    EXPECT_EQ(drawn[0].duration.ns, 150);
    EXPECT_EQ(drawn[0].correlation, 9u);
    EXPECT_THAT(m_kept.collectives, ElementsAre(*taken));
}

TEST_F(DeviceObserverTest, GroupsLieUnderTheOtherCommunicationAndAboveTheCounters) {
    for (const std::uint32_t group : {7u, 9u, 7u}) {
        control::CollectiveReport report;
        report.operation = CollectiveOp::kAllReduce;
        report.group = group;
        m_observer.collective(report);
    }
    m_kept.session.drain(0, true);
    std::vector<LaneFacts> lanes = m_kept.lanes;
    std::sort(lanes.begin(), lanes.end(),
              [](const LaneFacts& a, const LaneFacts& b) { return a.order < b.order; });
    std::vector<std::string> names;
    for (const LaneFacts& lane : lanes) names.push_back(lane.name);
    EXPECT_THAT(names, ElementsAre("step", "compute", "communication", "communication in group 7",
                                   "communication in group 9", "resident set", "CPU time"));
}

// The tracer's stack of this thread.
std::vector<capture::LaunchContext> g_contexts;

TEST_F(DeviceObserverTest, LaunchesAreAnnotatedWithStepLayerAndPhase) {
    static const capture::DeviceAnnotator annotator{
        [](capture::AnnotationStack stack, std::uint64_t id) {
            EXPECT_EQ(stack, capture::AnnotationStack::kContext);
            g_contexts.push_back(capture::unpack(id));
        },
        [](capture::AnnotationStack) { g_contexts.pop_back(); }};
    capture::deviceAnnotator().store(&annotator);
    m_observer.stepBegin(7);
    // Whatever is launched before, between and after phases is the step's.
    const capture::LaunchContext step{StepIndex{7}, kNoLayer, Phase::kNone, kEmptyString};
    EXPECT_THAT(g_contexts, ElementsAre(step));
    m_observer.phaseBegin(Phase::kBackward, LayerIndex{5});
    EXPECT_THAT(g_contexts,
                ElementsAre(step, capture::LaunchContext{StepIndex{7}, LayerIndex{5},
                                                         Phase::kBackward, kEmptyString}));
    m_observer.phaseEnd({Phase::kBackward, LayerIndex{5}, Cause::kNone, 1, 2});
    EXPECT_THAT(g_contexts, ElementsAre(step));
    endStep(7);
    EXPECT_THAT(g_contexts, IsEmpty());
    capture::deviceAnnotator().store(nullptr);
}

/// Of a step that is not captured in detail; another one replays it.
TEST_F(DeviceObserverTest, PhasesOfAGraphAreMarkedWhateverTheStepOfItsCaptureTakes) {
    m_observer.level().decide(CaptureLevel::kSteps, DetailReason::kSchedule, CaptureLevel::kSteps);
    control::GraphRecorder* const recorder = m_observer.graphs();
    ASSERT_NE(recorder, nullptr);
    control::CapturedGraph graph(m_device, {&recorder, 1}, "the test", [this] {
        m_observer.phaseBegin(Phase::kForward, LayerIndex{2});
        m_device.work(30);
        m_observer.phaseEnd({Phase::kForward, LayerIndex{2}, Cause::kNone, 1, 2});
    });
    m_observer.level().decide(CaptureLevel::kFull, DetailReason::kSchedule, CaptureLevel::kFull);
    graph.launch(9);
    m_observer.tellPassed(true);
    const auto spans = m_kept.on(lanes::kPhases.id);
    ASSERT_THAT(spans, SizeIs(1));
    EXPECT_EQ(spans[0].step, StepIndex{9});
    EXPECT_EQ(spans[0].layer, LayerIndex{2});
    EXPECT_EQ(spans[0].duration.ns, 30);
}

TEST_F(ObserverTest, WithoutADeviceThereAreNoGraphs) {
    EXPECT_EQ(m_observer.graphs(), nullptr);
}

}  // namespace
}  // namespace shardscope::worker
