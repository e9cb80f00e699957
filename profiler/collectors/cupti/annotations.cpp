#include "profiler/collectors/cupti/annotations.h"

#include "profiler/collectors/cupti/traced_calls.h"

#include <algorithm>
#include <array>
#include <atomic>

namespace shardscope::collectors::cupti {
namespace {

std::atomic<CuptiApi*> g_target{nullptr};
std::atomic<bool> g_annotating{false};

/// Deeper nesting is counted, not passed on.
constexpr std::uint32_t kDeepest = 64;

struct ThreadStack {
    std::array<std::uint64_t, kDeepest> ids{};
    std::uint64_t passedOn = 0;  ///< bit i: CUPTI has level i
    std::uint32_t depth = 0;
};

ThreadStack& threadStack(capture::AnnotationStack stack) {
    thread_local std::array<ThreadStack, 2> stacks;
    return stacks[static_cast<std::size_t>(stack)];
}

void push(capture::AnnotationStack stack, std::uint64_t id) {
    ThreadStack& state = threadStack(stack);
    const std::uint32_t level = state.depth++;
    if (level >= kDeepest) return;
    state.ids[level] = id;
    CuptiApi* api = g_target.load(std::memory_order_acquire);
    if (api == nullptr || !g_annotating.load(std::memory_order_relaxed)) return;
    if (api->pushExternalId(externalKind(stack), id) == kCuptiSuccess) {
        state.passedOn |= std::uint64_t{1} << level;
    }
}

void pop(capture::AnnotationStack stack) {
    ThreadStack& state = threadStack(stack);
    if (state.depth == 0) return;
    const std::uint32_t level = --state.depth;
    if (level >= kDeepest) return;
    const std::uint64_t bit = std::uint64_t{1} << level;
    if ((state.passedOn & bit) == 0) return;
    state.passedOn &= ~bit;
    CuptiApi* api = g_target.load(std::memory_order_acquire);
    if (api != nullptr) api->popExternalId(externalKind(stack));
}

constexpr capture::DeviceAnnotator kAnnotator{&push, &pop};

}  // namespace

const capture::DeviceAnnotator& annotator() {
    return kAnnotator;
}

void setAnnotationTarget(CuptiApi* api) {
    g_target.store(api, std::memory_order_release);
}

void setAnnotating(bool on) {
    g_annotating.store(on, std::memory_order_relaxed);
}

CapturedLaunch threadAnnotations() {
    CapturedLaunch launch;
    const auto top = [](const ThreadStack& state) {
        return state.ids[std::min(state.depth, kDeepest) - 1];
    };
    const ThreadStack& contexts = threadStack(capture::AnnotationStack::kContext);
    const ThreadStack& nccl = threadStack(capture::AnnotationStack::kNcclLaunch);
    if (contexts.depth > 0) launch.context = capture::unpack(top(contexts));
    if (nccl.depth > 0) launch.ncclLaunch = top(nccl);
    return launch;
}

}  // namespace shardscope::collectors::cupti
