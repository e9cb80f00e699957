// What a rank's steps spent on each thing that it computes. Internal to profiler/planning.
#pragma once

#include "engine/run/config/run_config.h"
#include "profiler/analysis/findings.h"
#include "storage/model/recording.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace shardscope::planning {

/// Into which parts a step's time is divided.
enum class Part : std::uint8_t {
    kData,
    kEmbed,
    kBlock,
    kHead,
    kBlockBackward,
    kEmbedBackward,
    kRecompute,
    kClip,
    kOptimizer,
    kRest,
    kCount,
};
using Parts = std::array<Duration, static_cast<std::size_t>(Part::kCount)>;
[[nodiscard]] constexpr std::size_t placeOf(Part part) {
    return static_cast<std::size_t>(part);
}
/// kRest: it is no work.
[[nodiscard]] Part partOf(Phase phase, LayerIndex layer);

/// By the phases of the step's thread; rest is what no phase covers. Of steady steps; none without
/// phases.
[[nodiscard]] std::map<StepIndex, Parts> hostParts(const RecordingSummary& summary,
                                                   const RankEvents& events,
                                                   const analysis::SteadySteps& steady);
/// Of a device, whose kernels do not say what they are for: their time, shared by FLOPs over blocks
/// and head, clip and optimizer in it; rest is when neither they nor collectives ran. None without
/// kernels.
[[nodiscard]] std::map<StepIndex, Parts> deviceParts(const RecordingSummary& summary,
                                                     const RankEvents& events,
                                                     const analysis::SteadySteps& steady,
                                                     const run::RunConfig& config);

/// From the end of the last collective before the end of a wait to that end.
[[nodiscard]] std::vector<Duration> wakes(const RankEvents& events);

/// Of the head in pieces logits are computed twice (engine/training/outer_layers.h): of three
/// products a fourth.
[[nodiscard]] double headPasses(const run::RunConfig& config);
[[nodiscard]] std::int64_t recomputedBlocks(const run::RunConfig& config);

}  // namespace shardscope::planning
