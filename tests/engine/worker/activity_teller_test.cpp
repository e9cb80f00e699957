// What a rank says once a second of what it is at, whatever its step thread does.
#include "engine/worker/rank_activity.h"
#include "tests/engine/worker/kept_session.h"

#include <gmock/gmock.h>

namespace shardscope::worker {
namespace {

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
