#include "engine/worker/step_teller.h"

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

}  // namespace
}  // namespace shardscope::worker
