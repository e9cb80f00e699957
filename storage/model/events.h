// What a rank records: spans, collectives, memory events and counters; of imported traces flows and
// instants as well.
//
// Enumerator values are written into recordings (storage/schema/FORMAT.md): never renumber,
// only append. Plain values, safe to copy between threads.
#pragma once

#include "storage/model/arrivals.h"
#include "storage/model/ids.h"
#include "storage/model/units.h"
#include "storage/model/words.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace shardscope {

enum class EventKind : std::uint8_t {
    kSpan = 1,
    kMemory = 2,
    kCounter = 3,
    kCollective = 4,  ///< rows of a table; chunks of them only between rank and recorder
    kFlow = 5,
    kInstant = 6,
};
constexpr auto wordsOf(EventKind) {
    return wordList<Word<EventKind>>({{EventKind::kSpan, "span"},
                                      {EventKind::kMemory, "memory"},
                                      {EventKind::kCounter, "counter"},
                                      {EventKind::kCollective, "collective"},
                                      {EventKind::kFlow, "flow"},
                                      {EventKind::kInstant, "instant"}});
}

/// What a lane shows. Analyses read roles, never names.
enum class LaneRole : std::uint8_t {
    kCompute = 1,        ///< compute phases of the engine's step thread (or kernels of a device)
    kCommunication = 2,  ///< collectives
    kCopy = 3,
    kHost = 4,  ///< operators on a host thread
    kRuntime = 5,
    kSync = 6,
    kRange = 7,    ///< coarse ranges: steps, forward, backward
    kCounter = 8,  ///< a counter (memory by category, RSS, CPU time)
};
constexpr auto wordsOf(LaneRole) {
    return wordList<Word<LaneRole>>({{LaneRole::kCompute, "compute"},
                                     {LaneRole::kCommunication, "communication"},
                                     {LaneRole::kCopy, "copy"},
                                     {LaneRole::kHost, "host"},
                                     {LaneRole::kRuntime, "runtime"},
                                     {LaneRole::kSync, "sync"},
                                     {LaneRole::kRange, "range"},
                                     {LaneRole::kCounter, "counter"}});
}

/// What the step thread is doing. Phases of one rank on lane role kCompute never overlap.
enum class Phase : std::uint8_t {
    kNone = 0,
    kData = 1,           ///< building the batch
    kForward = 2,        ///< forward of the embedding or one block
    kHead = 3,           ///< final norm, tied head and loss: forward and backward in one pass
    kBackward = 4,       ///< backward of one block or the embedding
    kOptimizer = 5,      ///< sharded AdamW
    kClip = 6,           ///< gradient norm and scaling
    kWaitGather = 7,     ///< step thread blocked until gathered parameters are there
    kWaitReduction = 8,  ///< step thread blocked until a gradient reduction is done
    kWaitOther = 9,      ///< blocked in any other collective (norm, loss, barrier)
    kEvaluation = 10,    ///< everything of a validation pass
    kCalibration = 11,   ///< measuring the matrix-multiply peak
    kRelease = 12,       ///< freeing gathered parameters or activations
    kOther = 13,
    kRecompute = 14,   ///< forward of a block again, for its backward
    kCheckpoint = 15,  ///< writing a checkpoint
    kSample = 16,      ///< text written by the model
};
/// What a phase is to its step. kWork: the step thread computes, which a step must contain and
/// communication can hide behind; kWait: it is blocked in a collective.
enum class PhaseUse : std::uint8_t { kOther, kWork, kWait };
struct PhaseWords {
    Phase value;
    const char* word;
    PhaseUse use = PhaseUse::kOther;
};
constexpr auto wordsOf(Phase) {
    return wordList<PhaseWords>({{Phase::kNone, "none"},
                                 {Phase::kData, "data"},
                                 {Phase::kForward, "forward", PhaseUse::kWork},
                                 {Phase::kHead, "head", PhaseUse::kWork},
                                 {Phase::kBackward, "backward", PhaseUse::kWork},
                                 {Phase::kOptimizer, "optimizer", PhaseUse::kWork},
                                 {Phase::kClip, "clip", PhaseUse::kWork},
                                 {Phase::kWaitGather, "wait for gather", PhaseUse::kWait},
                                 {Phase::kWaitReduction, "wait for reduction", PhaseUse::kWait},
                                 {Phase::kWaitOther, "wait", PhaseUse::kWait},
                                 {Phase::kEvaluation, "evaluation"},
                                 {Phase::kCalibration, "calibration"},
                                 {Phase::kRelease, "release"},
                                 {Phase::kOther, "other"},
                                 {Phase::kRecompute, "recompute", PhaseUse::kWork},
                                 {Phase::kCheckpoint, "checkpoint"},
                                 {Phase::kSample, "sample"}});
}
[[nodiscard]] constexpr bool isWork(Phase phase) {
    const PhaseWords* words = entryOf(phase);
    return words != nullptr && words->use == PhaseUse::kWork;
}
[[nodiscard]] constexpr bool isWait(Phase phase) {
    const PhaseWords* words = entryOf(phase);
    return words != nullptr && words->use == PhaseUse::kWait;
}

enum class CollectiveOp : std::uint8_t {
    kAllGather = 1,
    kReduceScatter = 2,
    kAllReduce = 3,
    kBroadcast = 4,
    kBarrier = 5,
    kAllToAll = 6,
    kSend = 7,
    kReceive = 8,
};
/// What a collective operation is called, here and by those whose traces are read and written.
struct CollectiveWords {
    CollectiveOp value;
    const char* word;
    const char* c10d;      ///< "Collective name" of a Kineto trace
    const char* kernel;    ///< in the names of NCCL's kernels; many share "SendRecv"
    bool moves = true;     ///< carries data, as a barrier does not
    bool message = false;  ///< goes from one rank to one other
};
constexpr auto wordsOf(CollectiveOp) {
    return wordList<CollectiveWords>(
        {{CollectiveOp::kAllGather, "all-gather", "all_gather", "AllGather"},
         {CollectiveOp::kReduceScatter, "reduce-scatter", "reduce_scatter", "ReduceScatter"},
         {CollectiveOp::kAllReduce, "all-reduce", "allreduce", "AllReduce"},
         {CollectiveOp::kBroadcast, "broadcast", "broadcast", "Broadcast"},
         {CollectiveOp::kBarrier, "barrier", "barrier", "Barrier", false},
         {CollectiveOp::kAllToAll, "all-to-all", "all_to_all", "SendRecv"},
         {CollectiveOp::kSend, "send", "send", "SendRecv", true, true},
         {CollectiveOp::kReceive, "receive", "recv", "SendRecv", true, true}});
}
[[nodiscard]] constexpr bool moves(CollectiveOp operation) {
    const CollectiveWords* words = entryOf(operation);
    return words != nullptr && words->moves;
}

/// Why a collective was issued.
enum class Cause : std::uint8_t {
    kNone = 0,
    kDemand = 1,               ///< needed at once: nothing was prefetched
    kPrefetch = 2,             ///< fetched ahead, behind the compute of another layer
    kGradient = 3,             ///< a layer's gradients are complete
    kNorm = 4,                 ///< gradient norm for clipping
    kLoss = 5,                 ///< mean loss of a step
    kStart = 6,                ///< start-up, checkpoint, verification
    kStop = 7,                 ///< agreement on stopping after this step
    kUpdate = 8,               ///< updated parameters go to all ranks
    kActivation = 9,           ///< ranks that share a layer need what the others computed
    kActivationGradient = 10,  ///< likewise, in backward
};
constexpr auto wordsOf(Cause) {
    return wordList<Word<Cause>>({{Cause::kNone, "none"},
                                  {Cause::kDemand, "demand"},
                                  {Cause::kPrefetch, "prefetch"},
                                  {Cause::kGradient, "gradient"},
                                  {Cause::kNorm, "norm"},
                                  {Cause::kLoss, "loss"},
                                  {Cause::kStart, "start"},
                                  {Cause::kStop, "stop"},
                                  {Cause::kUpdate, "update"},
                                  {Cause::kActivation, "activation"},
                                  {Cause::kActivationGradient, "activation gradient"}});
}

/// Between ranks that share layers, of what lies between these.
[[nodiscard]] constexpr bool isExchange(Cause cause) {
    return cause == Cause::kActivation || cause == Cause::kActivationGradient;
}

enum class DataType : std::uint8_t {
    kFloat32 = 1,
    kBFloat16 = 2,
    kFloat16 = 3,
    kInt64 = 4,
    kByte = 5,
    kFloat64 = 6,
    kUnknown = 7,  ///< a foreign trace does not say it
};
/// What a type is called here and in Kineto traces (c10::ScalarType), and bytes of an element.
struct DataTypeWords {
    DataType value;
    const char* word;
    const char* c10;
    std::int64_t bytes;
};
constexpr auto wordsOf(DataType) {
    return wordList<DataTypeWords>({{DataType::kFloat32, "fp32", "Float", 4},
                                    {DataType::kBFloat16, "bf16", "BFloat16", 2},
                                    {DataType::kFloat16, "fp16", "Half", 2},
                                    {DataType::kInt64, "int64", "Long", 8},
                                    {DataType::kByte, "byte", "Byte", 1},
                                    {DataType::kFloat64, "fp64", "Double", 8},
                                    {DataType::kUnknown, "unknown", "", 1}});
}
/// Of an element; 1 where the type is not known.
[[nodiscard]] constexpr std::int64_t bytesOf(DataType dtype) {
    const DataTypeWords* words = entryOf(dtype);
    return words != nullptr ? words->bytes : 1;
}

/// Size of a collective whose trace does not say it.
inline constexpr Bytes kUnknownSize{-1};

enum class MemoryAction : std::uint8_t { kAllocate = 1, kFree = 2 };
constexpr auto wordsOf(MemoryAction) {
    return wordList<Word<MemoryAction>>(
        {{MemoryAction::kAllocate, "allocate"}, {MemoryAction::kFree, "free"}});
}

enum class MemoryCategory : std::uint8_t {
    kOther = 0,
    kParameterShard = 1,
    kGatheredParameter = 2,
    kGradientShard = 3,  ///< sharded (reduced) gradients
    kGradient = 4,       ///< a layer's full gradients before reduction
    kOptimizerState = 5,
    kActivation = 6,
    kCommunication = 7,
    kTemporary = 8,  ///< scratch inside forward, backward or the optimizer
    kInput = 9,
    kOutside = 10,  ///< of a device, taken past the tensor allocator: context, NCCL, libraries
};
constexpr auto wordsOf(MemoryCategory) {
    return wordList<Word<MemoryCategory>>(
        {{MemoryCategory::kOther, "other"},
         {MemoryCategory::kParameterShard, "parameter shards"},
         {MemoryCategory::kGatheredParameter, "gathered parameters"},
         {MemoryCategory::kGradientShard, "gradient shards"},
         {MemoryCategory::kGradient, "layer gradients"},
         {MemoryCategory::kOptimizerState, "optimizer state"},
         {MemoryCategory::kActivation, "activations"},
         {MemoryCategory::kCommunication, "communication buffers"},
         {MemoryCategory::kTemporary, "temporary"},
         {MemoryCategory::kInput, "input data"},
         {MemoryCategory::kOutside, "outside the allocator"}});
}
inline constexpr int kMemoryCategoryCount = static_cast<int>(kPlaces<MemoryCategory>);

/// How far an instant reaches: its thread, its process, all of the trace.
enum class InstantScope : std::uint8_t { kThread = 1, kProcess = 2, kGlobal = 3 };
constexpr auto wordsOf(InstantScope) {
    return wordList<Word<InstantScope>>({{InstantScope::kThread, "thread"},
                                         {InstantScope::kProcess, "process"},
                                         {InstantScope::kGlobal, "global"}});
}

/// Which point of an arrow a flow event is.
enum class FlowPoint : std::uint8_t { kStart = 1, kStep = 2, kEnd = 3 };
constexpr auto wordsOf(FlowPoint) {
    return wordList<Word<FlowPoint>>(
        {{FlowPoint::kStart, "start"}, {FlowPoint::kStep, "step"}, {FlowPoint::kEnd, "end"}});
}

/// Which span of its thread a flow event belongs to.
enum class FlowBinding : std::uint8_t {
    kEnclosing = 1,  ///< the innermost that is under way
    kNext = 2,       ///< the first that begins then or later
};
constexpr auto wordsOf(FlowBinding) {
    return wordList<Word<FlowBinding>>(
        {{FlowBinding::kEnclosing, "enclosing"}, {FlowBinding::kNext, "next"}});
}

/// An interval on a lane.
struct SpanEvent {
    Timestamp start;
    Duration duration;
    LaneId lane;
    StringId name;
    StringId arguments;             ///< JSON object, or empty
    std::uint64_t correlation = 0;  ///< forward and backward operators share one; for lanes of
                                    ///< role kCommunication the collective's sequence; 0: none
    StepIndex step = kNoStep;
    LayerIndex layer = kNoLayer;
    Phase phase = Phase::kNone;
    std::uint8_t depth = 0;  ///< nesting on its lane, outermost 0

    [[nodiscard]] Timestamp end() const { return start + duration; }
    [[nodiscard]] TimeRange range() const { return {start, end()}; }
    friend bool operator==(const SpanEvent&, const SpanEvent&) = default;
};

/// One rank's view of one collective. Waiting is [start, last arrival), moving the rest.
struct CollectiveEvent {
    CollectiveOp operation = CollectiveOp::kBarrier;
    DataType dtype = DataType::kFloat32;
    Cause cause = Cause::kNone;
    LayerIndex layer = kNoLayer;
    StepIndex step = kNoStep;
    std::uint32_t group = 0;     ///< communicator; 0 is the world
    std::uint64_t sequence = 0;  ///< same number on every rank of the group
    Bytes size;          ///< whole payload: gathered size, size before reduction; or kUnknownSize
    StringId algorithm;  ///< e.g. "direct"
    StringId protocol;   ///< e.g. "shared memory"
    Timestamp issue;     ///< asked for
    Timestamp start;     ///< taken up by the communication thread; this rank's arrival
    Timestamp end;
    Arrivals arrivals;  ///< by rank in the group; own arrival included

    [[nodiscard]] Timestamp lastArrival() const {
        return std::min(arrivals.empty() ? start : std::max(start, arrivals.last()), end);
    }
    friend bool operator==(const CollectiveEvent&, const CollectiveEvent&) = default;
};

struct MemoryEvent {
    Timestamp time;
    std::uint64_t address = 0;
    Bytes size;
    MemoryAction action = MemoryAction::kAllocate;
    MemoryCategory category = MemoryCategory::kOther;  ///< a free repeats its allocation's
    StringId owner;                                    ///< operator or buffer name
    StepIndex step = kNoStep;
    LayerIndex layer = kNoLayer;
    Phase phase = Phase::kNone;
    StringId arguments{};  ///< of imported traces: JSON object, or empty
    friend bool operator==(const MemoryEvent&, const MemoryEvent&) = default;
};

struct CounterEvent {
    Timestamp time;
    LaneId lane;
    double value = 0;
    friend bool operator==(const CounterEvent&, const CounterEvent&) = default;
};

/// A moment on a lane that holds instants only.
struct InstantEvent {
    Timestamp time;
    LaneId lane;
    StringId name;
    StringId arguments;  ///< JSON object, or empty
    StepIndex step = kNoStep;
    InstantScope scope = InstantScope::kThread;
    friend bool operator==(const InstantEvent&, const InstantEvent&) = default;
};

/// One point of an arrow between spans: those of a rank that agree in category, name and id are one
/// arrow, from its start over steps to its end.
struct FlowEvent {
    Timestamp time;
    LaneId lane;  ///< of the span it is bound to; else any of its thread
    std::uint64_t id = 0;
    StringId idText;  ///< where the id is no number; `id` is a hash of it then
    StringId name;
    StringId category;
    StringId arguments;  ///< JSON object, or empty
    StepIndex step = kNoStep;
    FlowPoint point = FlowPoint::kStart;
    FlowBinding binding = FlowBinding::kEnclosing;
    bool bound = false;  ///< to the span of `lane` that begins at spanStart, `depth` deep
    std::uint8_t depth = 0;
    Timestamp spanStart;  ///< 0 unless bound
    friend bool operator==(const FlowEvent&, const FlowEvent&) = default;
};

// Work that a program does for the profiler's sake, which is no work of the training.

/// Calibration: it runs once before the first step, whatever is trained.
[[nodiscard]] constexpr bool isApart(const SpanEvent& span) {
    return span.phase == Phase::kCalibration;
}

}  // namespace shardscope
