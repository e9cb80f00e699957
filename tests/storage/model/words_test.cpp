#include "storage/interchange/step_marks.h"
#include "storage/model/recording.h"
#include "storage/recording/read/recording_reader.h"
#include "tests/support/word_list_test.h"

namespace shardscope::test {
namespace {

using Recorded = testing::Types<EventKind, LaneRole, Phase, CollectiveOp, Cause, DataType,
                                MemoryAction, MemoryCategory, InstantScope, FlowPoint, FlowBinding,
                                RunStatus, Severity, CaptureLevel, DetailReason,
                                storage::TableResult::CellType, interchange::StepNaming>;
INSTANTIATE_TYPED_TEST_SUITE_P(Recorded, WordList, Recorded);

TEST(Words, APhaseIsWorkOrAWaitOrNeither) {
    for (const Phase phase : kAll<Phase>) EXPECT_FALSE(isWork(phase) && isWait(phase));
    EXPECT_TRUE(isWork(Phase::kRecompute));
    EXPECT_TRUE(isWait(Phase::kWaitOther));
    EXPECT_FALSE(isWork(Phase::kEvaluation));
    EXPECT_FALSE(isWork(static_cast<Phase>(200)));
}

TEST(Words, EverythingButABarrierMovesData) {
    for (const CollectiveOp operation : kAll<CollectiveOp>)
        EXPECT_EQ(moves(operation), operation != CollectiveOp::kBarrier);
}

TEST(Words, AListReadsAsASentenceDoes) {
    EXPECT_EQ(listOfWords<FlowPoint>(), "start, step or end");
    EXPECT_EQ(listOfWords<MemoryAction>(", "), "allocate, free");
}

}  // namespace
}  // namespace shardscope::test
