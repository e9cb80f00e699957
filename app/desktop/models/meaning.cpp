#include "app/desktop/models/meaning.h"

namespace shardscope::desktop {

Meaning meaningOf(analysis::LedgerPart part) {
    using analysis::LedgerPart;
    switch (part) {
        case LedgerPart::kCompute:
            return Meaning::kCompute;
        case LedgerPart::kOptimizer:
            return Meaning::kOptimizer;
        case LedgerPart::kExposedGather:
            return Meaning::kGather;
        case LedgerPart::kExposedReduceScatter:
            return Meaning::kReduction;
        case LedgerPart::kExposedAllReduce:
            return Meaning::kAllReduce;
        case LedgerPart::kExposedOther:
            return Meaning::kOtherCollective;
        case LedgerPart::kCopies:
            return Meaning::kDeviceCopy;
        case LedgerPart::kLaunchBound:
            return Meaning::kIdleLaunched;
        case LedgerPart::kHostBound:
            return Meaning::kIdle;
        case LedgerPart::kCheckpoint:
            return Meaning::kCheckpoint;
        case LedgerPart::kProfiler:
            return Meaning::kProfiler;
        case LedgerPart::kWaiting:
            return Meaning::kWaiting;
        case LedgerPart::kNoCore:
            return Meaning::kNoCore;
        case LedgerPart::kStolen:
            return Meaning::kStolen;
        case LedgerPart::kData:
            return Meaning::kCopy;
        case LedgerPart::kEvaluation:
            return Meaning::kEvaluation;
        case LedgerPart::kOther:
            return Meaning::kHost;
    }
    return Meaning::kHost;
}

Meaning meaningOf(MemoryCategory category) {
    switch (category) {
        case MemoryCategory::kParameterShard:
            return Meaning::kCompute;
        case MemoryCategory::kGatheredParameter:
            return Meaning::kGather;
        case MemoryCategory::kGradientShard:
            return Meaning::kGradientShard;
        case MemoryCategory::kGradient:
            return Meaning::kReduction;
        case MemoryCategory::kOptimizerState:
            return Meaning::kOptimizer;
        case MemoryCategory::kActivation:
            return Meaning::kActivation;
        case MemoryCategory::kCommunication:
            return Meaning::kOtherCollective;
        case MemoryCategory::kInput:
            return Meaning::kCopy;
        case MemoryCategory::kTemporary:
            return Meaning::kHost;
        case MemoryCategory::kOther:
            return Meaning::kIdle;
        case MemoryCategory::kOutside:
            return Meaning::kOutside;
    }
    return Meaning::kHost;
}

Meaning meaningOf(CollectiveOp operation) {
    switch (operation) {
        case CollectiveOp::kAllGather:
            return Meaning::kGather;
        case CollectiveOp::kReduceScatter:
            return Meaning::kReduction;
        case CollectiveOp::kAllReduce:
            return Meaning::kAllReduce;
        case CollectiveOp::kBroadcast:
        case CollectiveOp::kBarrier:
        case CollectiveOp::kAllToAll:
        case CollectiveOp::kSend:
        case CollectiveOp::kReceive:
            return Meaning::kOtherCollective;
    }
    return Meaning::kOtherCollective;
}

Meaning meaningOf(Phase phase) {
    switch (phase) {
        case Phase::kForward:
        case Phase::kHead:
        case Phase::kBackward:
        case Phase::kRecompute:
            return Meaning::kCompute;
        case Phase::kOptimizer:
        case Phase::kClip:
            return Meaning::kOptimizer;
        case Phase::kData:
            return Meaning::kCopy;
        case Phase::kWaitGather:
            return Meaning::kWaitGather;
        case Phase::kWaitReduction:
            return Meaning::kWaitReduction;
        case Phase::kWaitOther:
            return Meaning::kWaitOther;
        case Phase::kEvaluation:
        case Phase::kSample:
            return Meaning::kEvaluation;
        case Phase::kCalibration:
        case Phase::kCheckpoint:
        case Phase::kRelease:
        case Phase::kOther:
        case Phase::kNone:
            return Meaning::kHost;
    }
    return Meaning::kHost;
}

const std::vector<MemoryCategory>& stackOrder() {
    static const std::vector<MemoryCategory> order{
        MemoryCategory::kParameterShard, MemoryCategory::kOptimizerState,
        MemoryCategory::kGradientShard,  MemoryCategory::kInput,
        MemoryCategory::kCommunication,  MemoryCategory::kGatheredParameter,
        MemoryCategory::kGradient,       MemoryCategory::kActivation,
        MemoryCategory::kTemporary,      MemoryCategory::kOther,
        MemoryCategory::kOutside};
    return order;
}

}  // namespace shardscope::desktop
