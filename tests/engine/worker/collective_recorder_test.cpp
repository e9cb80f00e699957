#include "engine/worker/recording_observer.h"
#include "storage/model/lanes.h"
#include "tests/engine/worker/kept_session.h"

#include <gmock/gmock.h>

#include <array>
#include <vector>

namespace shardscope::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

control::CollectiveReport gather(std::int32_t step, std::uint32_t group = 0) {
    control::CollectiveReport report;
    report.operation = CollectiveOp::kAllGather;
    report.cause = Cause::kStart;
    report.step = step;
    report.group = group;
    report.startNs = 100;
    report.endNs = 300;
    return report;
}

class CollectiveRecorderTest : public testing::Test {
protected:
    KeptSession m_kept;
    EventNames m_names{m_kept.session};
    StepLevel m_level{CaptureLevel::kLight};
    CollectiveRecorder m_recorder{m_names, m_level, m_kept.session};
};

TEST_F(CollectiveRecorderTest, IsRecordedAndDrawn) {
    const std::array<std::int64_t, 2> arrivals{90, 95};
    control::CollectiveReport report = gather(0);
    report.arrivalsNs = arrivals;
    m_recorder.report(report);
    const auto drawn = m_kept.on(lanes::kCommunication.id);
    ASSERT_THAT(drawn, SizeIs(1));
    EXPECT_EQ(drawn[0].start.ns, 100);
    EXPECT_EQ(drawn[0].duration.ns, 200);
    EXPECT_EQ(drawn[0].name, m_names.of(CollectiveOp::kAllGather));
    EXPECT_EQ(drawn[0].arguments, m_names.arguments(Cause::kStart));
    ASSERT_THAT(m_kept.collectives, SizeIs(1));
    EXPECT_THAT(m_kept.collectives[0].arrivals, ElementsAre(Timestamp{90}, Timestamp{95}));
}

/// What it did between hosts and inside lies beneath it, at full capture.
TEST_F(CollectiveRecorderTest, LevelsAreDrawnBeneathIt) {
    using control::Level;
    const std::array<control::LevelReport, 3> levels{{{Level::kInsideHost, 100, 120},
                                                      {Level::kBetweenHosts, 120, 260},
                                                      {Level::kInsideHost, 260, 300}}};
    control::CollectiveReport report = gather(0, 5);
    report.sequence = 9;
    report.levels = levels;
    m_recorder.report(report);
    EXPECT_THAT(m_kept.on(lanes::kGroups.at(0)), SizeIs(1)) << "at light";
    m_level.decide(CaptureLevel::kFull, DetailReason::kSchedule, CaptureLevel::kFull);
    m_recorder.report(report);
    const auto drawn = m_kept.on(lanes::kGroups.at(0));
    ASSERT_THAT(drawn, SizeIs(5));
    const SpanEvent &whole = drawn[1], &between = drawn[3];
    EXPECT_EQ(whole.depth, 0);
    EXPECT_EQ(between.depth, 1);
    EXPECT_EQ(between.start.ns, 120);
    EXPECT_EQ(between.duration.ns, 140);
    EXPECT_EQ(between.name, m_names.of(Level::kBetweenHosts));
    EXPECT_EQ(drawn[2].name, m_names.of(Level::kInsideHost));
    EXPECT_EQ(between.correlation, whole.correlation);
    EXPECT_THAT(m_kept.collectives, SizeIs(2));
}

TEST_F(CollectiveRecorderTest, OfAStepThatIsNotCapturedNothingIs) {
    m_level.decide(CaptureLevel::kSteps, DetailReason::kSchedule, CaptureLevel::kLight);
    m_level.begin(3);
    m_recorder.report(gather(3));
    EXPECT_THAT(m_kept.on(lanes::kCommunication.id), IsEmpty());
    m_recorder.report(gather(4));
    EXPECT_THAT(m_kept.on(lanes::kCommunication.id), SizeIs(1)) << "fetched ahead";
}

TEST_F(CollectiveRecorderTest, ATakerStoresWhenItWants) {
    std::vector<CollectiveEvent> taken;
    std::vector<std::uint64_t> numbers;
    m_recorder.handTo([&](const CollectiveEvent& event, std::uint64_t captured) {
        taken.push_back(event);
        numbers.push_back(captured);
    });
    control::CollectiveReport replayed = gather(0);
    replayed.captured = 17;
    m_recorder.report(replayed);
    EXPECT_THAT(m_kept.on(lanes::kCommunication.id), IsEmpty());
    ASSERT_THAT(taken, SizeIs(1));
    EXPECT_EQ(numbers[0], 17u);
    m_recorder.store(taken[0]);
    EXPECT_THAT(m_kept.on(lanes::kCommunication.id), SizeIs(1));
}

TEST_F(CollectiveRecorderTest, MoreGroupsThanLanesShareTheWorlds) {
    for (const std::uint32_t group : {5u, 6u, 7u, 5u}) m_recorder.report(gather(0, group));
    EXPECT_THAT(m_kept.on(lanes::kGroups.at(0)), SizeIs(2));
    EXPECT_THAT(m_kept.on(lanes::kGroups.at(1)), SizeIs(1));
    EXPECT_THAT(m_kept.on(lanes::kCommunication.id), SizeIs(1));
}

TEST_F(CollectiveRecorderTest, WhoListensIsToldOfThoseThatAreNotCapturedToo) {
    m_level.decide(CaptureLevel::kSteps, DetailReason::kSchedule, CaptureLevel::kSteps);
    training::PrecisionReport precision;
    m_recorder.listen(&precision);
    control::CollectiveReport reduction = gather(0);
    reduction.operation = CollectiveOp::kReduceScatter;
    reduction.cause = Cause::kGradient;
    m_recorder.report(reduction);
    m_recorder.listen(nullptr);
    m_recorder.report(reduction);
    ASSERT_THAT(precision.rows(), SizeIs(1));
    EXPECT_EQ(precision.rows()[0].tensors, 1);
}

}  // namespace
}  // namespace shardscope::worker
