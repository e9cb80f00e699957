#include "storage/model/lanes.h"

#include "storage/model/process_facts.h"
#include "storage/model/recording.h"
#include "storage/model/step_names.h"
#include "storage/recording/read/recording_reader.h"
#include "tests/support/word_list_test.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace shardscope::test {
namespace {

const std::vector<FixedLane> kFixed = {lanes::kSteps,          lanes::kPhases,
                                       lanes::kOperators,      lanes::kCommunication,
                                       lanes::kResidentSet,    lanes::kCpuTime,
                                       lanes::kTracerOverhead, lanes::kDriverAllocations,
                                       lanes::kDeviceReserved, lanes::kProgramResidentSet,
                                       lanes::kProgramCpuTime};

TEST(Lanes, NoNumberIsGivenTwice) {
    std::set<LaneId> taken;
    for (const FixedLane& lane : kFixed) EXPECT_TRUE(taken.insert(lane.id).second) << lane.name;
    for (const LaneRange range : {lanes::kGroups, lanes::kMoreOperators, lanes::kStreams,
                                  lanes::kCalls, lanes::kNvmlCounters, lanes::kDerived})
        for (const LaneId lane : taken) EXPECT_FALSE(range.contains(lane)) << lane.value;
}

TEST(Lanes, AreThoseOfRecordingsThatAreThere) {
    EXPECT_EQ(lanes::kCommunication.id.value, 3u);
    EXPECT_EQ(lanes::kStreams.at(0).value, 0x1000u);
    EXPECT_EQ(lanes::kCalls.at(0).value, 0x2000u);
    EXPECT_EQ(lanes::kDeviceReserved.id.value, 0x3800u);
    EXPECT_EQ(lanes::kProgramResidentSet.id.value, 8u);
    EXPECT_EQ(lanes::kProgramCpuTime.id.value, 9u);
    EXPECT_EQ(memoryLane(MemoryCategory::kActivation).value, 0x10006u);
    EXPECT_EQ(kMemoryTotalLane.value, 0x100ffu);
}

TEST(Lanes, BeyondTheLastOfARangeEverythingSharesIt) {
    EXPECT_EQ(lanes::kGroups.at(0).value, 6u);
    EXPECT_EQ(lanes::kGroups.at(1).value, 7u);
    EXPECT_EQ(lanes::kGroups.at(100).value, 7u);
}

TEST(Lanes, ThoseOfImportedTracesLieWhereAnalysesLook) {
    EXPECT_TRUE(isStreamLane(lanes::rangeFor(LaneRole::kCompute).at(0)));
    EXPECT_TRUE(isTracedLane(lanes::rangeFor(LaneRole::kRuntime).at(0)));
    for (const LaneRole role : kAll<LaneRole>) {
        const LaneRange range = lanes::rangeFor(role);
        EXPECT_FALSE(range.contains(lanes::kSteps.id));
        EXPECT_FALSE(isMemoryLane(range.at(range.size())));
    }
}

TEST(Lanes, TheTracersOverheadIsFoundInOlderRecordingsToo) {
    EXPECT_TRUE(isTracerOverhead(lanes::kTracerOverhead.id, ""));
    EXPECT_TRUE(isTracerOverhead({0x2003}, "tracer overhead"));
    EXPECT_FALSE(isTracerOverhead({0x2003}, "CUDA calls (thread 7)"));
}

using Recorded = testing::Types<EventKind, LaneRole, Phase, CollectiveOp, Cause, DataType,
                                MemoryAction, MemoryCategory, InstantScope, FlowPoint, FlowBinding,
                                RunStatus, Severity, CaptureLevel, DetailReason, ProcessRole,
                                storage::TableResult::CellType, StepNaming>;
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
