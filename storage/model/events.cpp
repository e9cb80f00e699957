#include "storage/model/events.h"

namespace shardscope {

const char* toWord(EventKind kind) {
    switch (kind) {
        case EventKind::kSpan:
            return "span";
        case EventKind::kMemory:
            return "memory";
        case EventKind::kCounter:
            return "counter";
        case EventKind::kCollective:
            return "collective";
        case EventKind::kFlow:
            return "flow";
        case EventKind::kInstant:
            return "instant";
    }
    return "unknown";
}

const char* toWord(LaneRole role) {
    switch (role) {
        case LaneRole::kCompute:
            return "compute";
        case LaneRole::kCommunication:
            return "communication";
        case LaneRole::kCopy:
            return "copy";
        case LaneRole::kHost:
            return "host";
        case LaneRole::kRuntime:
            return "runtime";
        case LaneRole::kSync:
            return "sync";
        case LaneRole::kRange:
            return "range";
        case LaneRole::kCounter:
            return "counter";
    }
    return "unknown";
}

const char* toWord(Phase phase) {
    switch (phase) {
        case Phase::kNone:
            return "none";
        case Phase::kData:
            return "data";
        case Phase::kForward:
            return "forward";
        case Phase::kHead:
            return "head";
        case Phase::kBackward:
            return "backward";
        case Phase::kOptimizer:
            return "optimizer";
        case Phase::kClip:
            return "clip";
        case Phase::kWaitGather:
            return "wait for gather";
        case Phase::kWaitReduction:
            return "wait for reduction";
        case Phase::kWaitOther:
            return "wait";
        case Phase::kEvaluation:
            return "evaluation";
        case Phase::kCalibration:
            return "calibration";
        case Phase::kRelease:
            return "release";
        case Phase::kOther:
            return "other";
        case Phase::kRecompute:
            return "recompute";
        case Phase::kCheckpoint:
            return "checkpoint";
        case Phase::kSample:
            return "sample";
    }
    return "unknown";
}

const char* toWord(CollectiveOp operation) {
    switch (operation) {
        case CollectiveOp::kAllGather:
            return "all-gather";
        case CollectiveOp::kReduceScatter:
            return "reduce-scatter";
        case CollectiveOp::kAllReduce:
            return "all-reduce";
        case CollectiveOp::kBroadcast:
            return "broadcast";
        case CollectiveOp::kBarrier:
            return "barrier";
        case CollectiveOp::kAllToAll:
            return "all-to-all";
        case CollectiveOp::kSend:
            return "send";
        case CollectiveOp::kReceive:
            return "receive";
    }
    return "unknown";
}

const char* toWord(Cause cause) {
    switch (cause) {
        case Cause::kNone:
            return "none";
        case Cause::kDemand:
            return "demand";
        case Cause::kPrefetch:
            return "prefetch";
        case Cause::kGradient:
            return "gradient";
        case Cause::kNorm:
            return "norm";
        case Cause::kLoss:
            return "loss";
        case Cause::kStart:
            return "start";
        case Cause::kStop:
            return "stop";
        case Cause::kUpdate:
            return "update";
    }
    return "unknown";
}

const char* toWord(DataType dtype) {
    switch (dtype) {
        case DataType::kFloat32:
            return "fp32";
        case DataType::kBFloat16:
            return "bf16";
        case DataType::kFloat16:
            return "fp16";
        case DataType::kInt64:
            return "int64";
        case DataType::kByte:
            return "byte";
        case DataType::kFloat64:
            return "fp64";
        case DataType::kUnknown:
            return "unknown";
    }
    return "unknown";
}

const char* toWord(MemoryCategory category) {
    switch (category) {
        case MemoryCategory::kOther:
            return "other";
        case MemoryCategory::kParameterShard:
            return "parameter shards";
        case MemoryCategory::kGatheredParameter:
            return "gathered parameters";
        case MemoryCategory::kGradientShard:
            return "gradient shards";
        case MemoryCategory::kGradient:
            return "layer gradients";
        case MemoryCategory::kOptimizerState:
            return "optimizer state";
        case MemoryCategory::kActivation:
            return "activations";
        case MemoryCategory::kCommunication:
            return "communication buffers";
        case MemoryCategory::kTemporary:
            return "temporary";
        case MemoryCategory::kInput:
            return "input data";
        case MemoryCategory::kOutside:
            return "outside the allocator";
    }
    return "unknown";
}

const char* toWord(InstantScope scope) {
    switch (scope) {
        case InstantScope::kThread:
            return "thread";
        case InstantScope::kProcess:
            return "process";
        case InstantScope::kGlobal:
            return "global";
    }
    return "unknown";
}

const char* toWord(FlowPoint point) {
    switch (point) {
        case FlowPoint::kStart:
            return "start";
        case FlowPoint::kStep:
            return "step";
        case FlowPoint::kEnd:
            return "end";
    }
    return "unknown";
}

}  // namespace shardscope
