#include "engine/worker/step_teller.h"

#include "engine/worker/rank_activity.h"
#include "storage/model/lanes.h"
#include "tests/engine/worker/kept_session.h"

#include <gmock/gmock.h>

#include <vector>

namespace shardscope::worker {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class StepTellerTest : public testing::Test {
protected:
    void phase(Phase phase, std::int64_t startNs, std::int64_t endNs, StepIndex step = {2}) {
        m_teller.tell(EndedPhase{{phase, kNoLayer, Cause::kNone, startNs, endNs}, step, m_level});
    }
    void step(std::int64_t startNs, std::int64_t endNs) {
        EndedStep ended{{2, startNs, endNs, 64}, {}};
        ended.done.step.step = {2};
        ended.done.capture = m_level;
        m_teller.tell(ended);
    }
    std::vector<std::int64_t> starts(LaneId lane) {
        std::vector<std::int64_t> list;
        for (const SpanEvent& span : m_kept.on(lane)) list.push_back(span.start.ns);
        return list;
    }

    KeptSession m_kept;
    KeptOutbox m_agent;
    EventNames m_names{m_kept.session};
    CaptureLevel m_level = CaptureLevel::kLight;
    StepTeller m_teller{m_names, m_kept.session, m_agent.outbox};
};

TEST_F(StepTellerTest, AStretchLastsUntilTheNextOneBegins) {
    phase(Phase::kForward, 10, 20);
    phase(Phase::kWaitGather, 20, 25);
    phase(Phase::kForward, 25, 30);
    phase(Phase::kBackward, 32, 50);
    step(10, 60);
    const auto lane = m_kept.on(lanes::kSteps.id);
    ASSERT_THAT(lane, SizeIs(3));
    EXPECT_EQ(lane[0].name, m_names.ofStep());
    EXPECT_EQ(lane[1].name, m_names.of(Stretch::kForward));
    EXPECT_EQ(lane[1].end().ns, 32);
    EXPECT_EQ(lane[2].name, m_names.of(Stretch::kBackward));
    EXPECT_EQ(lane[2].end().ns, 60);
    EXPECT_THAT(starts(lanes::kPhases.id), ElementsAre(10, 20, 25, 32));
}

TEST_F(StepTellerTest, PhasesBetweenStepsBelongToNoStretch) {
    phase(Phase::kForward, 10, 20, kNoStep);
    phase(Phase::kEvaluation, 20, 30, kNoStep);
    step(40, 50);
    EXPECT_THAT(starts(lanes::kSteps.id), ElementsAre(40));
}

TEST_F(StepTellerTest, WaitsOfAStepAreItsExposedCommunicationCapturedOrNot) {
    m_level = CaptureLevel::kSteps;
    phase(Phase::kWaitGather, 10, 20);
    phase(Phase::kForward, 20, 30);
    phase(Phase::kWaitReduction, 30, 35);
    step(10, 40);
    step(40, 50);
    const auto steps = m_agent.posted<run::StepDone>();
    ASSERT_THAT(steps, SizeIs(2));
    EXPECT_EQ(steps[0].exposedCommunication.ns, 15);
    EXPECT_EQ(steps[0].step.start.ns, 10);
    EXPECT_EQ(steps[0].step.end.ns, 40);
    EXPECT_EQ(steps[1].exposedCommunication.ns, 0);
    EXPECT_THAT(starts(lanes::kSteps.id), SizeIs(0));
}

// What a rank says once a second of what it is at, whatever its step thread does.

constexpr std::int64_t kMs = 1'000'000;

class ActivityTest : public testing::Test {
protected:
    void look(std::int64_t atMs) {
        m_teller.look(atMs * kMs, false, [this] {
            ++m_asked;
            return MemoryNow{Bytes{7}, Bytes{8}};
        });
    }

    StepPlace m_place;
    KeptOutbox m_agent;
    ActivityTeller m_teller{m_place, m_agent.outbox};
    int m_asked = 0;
};

TEST_F(ActivityTest, TellsAtOnceAndThenOnceASecond) {
    for (std::int64_t ms = 1000; ms <= 3100; ms += 100) look(ms);
    EXPECT_EQ(m_asked, 3) << "memory is looked at when it is told";
    EXPECT_THAT(m_agent.posted<run::RankActivity>(), testing::SizeIs(3));
}

TEST_F(ActivityTest, SaysHowLongARankHasBeenInItsPhase) {
    m_place.begin({4});
    look(1000);
    m_place.enter(Phase::kWaitReduction, {2});
    for (std::int64_t ms = 1200; ms <= 3000; ms += 200) look(ms);
    const auto told = m_agent.posted<run::RankActivity>();
    ASSERT_THAT(told, testing::SizeIs(3));
    EXPECT_EQ(told[0].phase, Phase::kNone);
    EXPECT_EQ(told[2].step, StepIndex{4});
    EXPECT_EQ(told[2].phase, Phase::kWaitReduction);
    EXPECT_EQ(told[2].layer, LayerIndex{2});
    EXPECT_EQ(told[2].inPhase.ns, 1800 * kMs) << "since it was first seen in it";
    EXPECT_EQ(told[2].tensors, Bytes{7});
    EXPECT_EQ(told[2].residentSet, Bytes{8});
}

TEST_F(ActivityTest, APhaseOfTheSameNameIsAnother) {
    m_place.enter(Phase::kForward, {0});
    look(1000);
    m_place.leave();
    m_place.enter(Phase::kForward, {0});
    look(2000);
    const auto told = m_agent.posted<run::RankActivity>();
    ASSERT_THAT(told, testing::SizeIs(2));
    EXPECT_EQ(told[1].inPhase.ns, 0);
}

}  // namespace
}  // namespace shardscope::worker
