#include "engine/worker/failure_words.h"

#include "engine/run/theory/theory.h"
#include "profiler/collectors/allocator/recording_allocator.h"

#include <fmt/format.h>

namespace shardscope::worker {
namespace {

std::string layerWord(const training::StepPosition& place) {
    if (place.phase == Phase::kHead) return "the head";
    if (place.layer == kRootLayer) return "the embedding";
    return fmt::format("block {}", place.layer.value);
}

std::string placeWord(const training::StepPosition& place) {
    if (place.phase == Phase::kNone) return "before the first step";
    if (place.layer == kNoLayer) return toWord(place.phase);
    return fmt::format("{} of {}", toWord(place.phase), layerWord(place));
}

}  // namespace

std::string notFiniteSentence(const training::StepResult& result,
                              const training::StepPosition& place, bool known) {
    std::string where = "; all outputs are finite, but not its gradients";
    if (known)
        where = fmt::format("; the first output that is not finite is that of {} in micro-step {}",
                            layerWord(place), place.microStep);
    return fmt::format(
        "the loss became {} (gradient norm {}) in step {}{}; lower the learning rate or raise the "
        "warm-up",
        result.loss, result.gradientNorm, place.step, where);
}

std::optional<std::string> outOfMemorySentence(const run::RunConfig& config,
                                               const training::StepPosition& place) {
    const auto failed = collectors::takeAllocationFailure();
    if (!failed) return std::nullopt;
    const auto theory = theory::memoryTheory(config);
    std::string table;
    for (int i = 0; i < kMemoryCategoryCount; ++i) {
        const std::int64_t bytes = theory[static_cast<std::size_t>(i)].count;
        if (bytes == 0) continue;
        table += fmt::format("\n  {:<22} {:>10.1f} MB", toWord(static_cast<MemoryCategory>(i)),
                             static_cast<double>(bytes) * 1e-6);
    }
    return fmt::format(
        "out of memory: {} bytes for {} ({}) could not be allocated; lower --batch, raise "
        "--recompute-every or shard over more ranks. By theory a rank needs at its peak{}\n"
        "  {:<22} {:>10.1f} MB",
        failed->bytes, toWord(failed->use.category),
        failed->use.owner != nullptr ? std::string(failed->use.owner) : placeWord(place), table,
        "together", static_cast<double>(theory::total(theory).count) * 1e-6);
}

}  // namespace shardscope::worker
