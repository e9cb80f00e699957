// What a device launch belongs to, carried through the vendor's tracer as a 64-bit id.
//
// The step, layer, phase and operator of the launching thread are packed into the id itself, so
// that nothing has to be looked up later and a lost record loses only itself. Pushing and
// popping must balance on one thread. With no annotator installed it costs one branch.
#pragma once

#include "storage/model/events.h"

#include <atomic>
#include <cstdint>
#include <utility>

namespace shardscope::capture {

struct LaunchContext {
    StepIndex step = kNoStep;
    LayerIndex layer = kNoLayer;
    Phase phase = Phase::kNone;
    StringId operatorName;  ///< outermost operator running
    friend bool operator==(const LaunchContext&, const LaunchContext&) = default;
};

/// step + 1: 24 bits, layer + 2: 16, phase: 5, operator: 19, from the top. A step or string id
/// that does not fit becomes "none": ids never wrap into those of others.
[[nodiscard]] constexpr std::uint64_t pack(const LaunchContext& context) {
    static_assert(kPlaces<Phase> <= 32);
    const auto step = static_cast<std::uint64_t>(context.step.value) + 1;
    const auto layer = (static_cast<std::uint64_t>(context.layer.value) + 2) & 0xffffu;
    const auto phase = static_cast<std::uint64_t>(context.phase) & 0x1fu;
    const std::uint64_t name = context.operatorName.value;
    return (step >> 24 == 0 ? step : 0) << 40 | layer << 24 | phase << 19 |
           (name >> 19 == 0 ? name : 0);
}

[[nodiscard]] constexpr LaunchContext unpack(std::uint64_t id) {
    LaunchContext context;
    context.step = {static_cast<std::int32_t>(id >> 40) - 1};
    context.layer = {static_cast<std::int16_t>(static_cast<std::int32_t>(id >> 24 & 0xffff) - 2)};
    context.phase = static_cast<Phase>(id >> 19 & 0x1f);
    context.operatorName = {static_cast<std::uint32_t>(id & 0x7ffff)};
    return context;
}

/// Two independent stacks a thread: launch contexts, and NCCL launches (nccl_profiler.h).
enum class AnnotationStack : std::uint8_t { kContext = 0, kNcclLaunch = 1 };

struct DeviceAnnotator {
    void (*push)(AnnotationStack stack, std::uint64_t id);
    void (*pop)(AnnotationStack stack);
};

/// Of the process; null: none. Lives as long as the process once set.
inline std::atomic<const DeviceAnnotator*>& deviceAnnotator() {
    static std::atomic<const DeviceAnnotator*> annotator{nullptr};
    return annotator;
}

/// What the calling thread launches from here on belongs to `context`. False: nothing is traced.
inline bool pushLaunchContext(const LaunchContext& context) {
    const DeviceAnnotator* annotator = deviceAnnotator().load();
    if (annotator == nullptr) return false;
    annotator->push(AnnotationStack::kContext, pack(context));
    return true;
}
/// Ends what the last push began.
inline void popLaunchContext() {
    const DeviceAnnotator* annotator = deviceAnnotator().load();
    if (annotator != nullptr) annotator->pop(AnnotationStack::kContext);
}

// Which of the engine's collectives the calling thread is issuing, for the code called below.
//
// Set around the library call by the communicator's hook; read by the NCCL profiler on the same
// thread. Vendor-free, no cost beyond a thread-local store.

struct CollectiveAnnotation {
    std::uint32_t group = 0;     ///< communicator; 0 is the world
    std::uint64_t sequence = 0;  ///< counts from 1 within the group; 0: no collective
    bool captured = false;       ///< into a graph: `sequence` is its number there
    friend bool operator==(const CollectiveAnnotation&, const CollectiveAnnotation&) = default;
};

inline CollectiveAnnotation& threadCollective() {
    thread_local CollectiveAnnotation annotation;
    return annotation;
}

class CollectiveScope {
public:
    explicit CollectiveScope(CollectiveAnnotation annotation)
        : m_previous(std::exchange(threadCollective(), annotation)) {}
    ~CollectiveScope() { threadCollective() = m_previous; }
    CollectiveScope(const CollectiveScope&) = delete;
    CollectiveScope& operator=(const CollectiveScope&) = delete;

private:
    CollectiveAnnotation m_previous;
};

}  // namespace shardscope::capture
