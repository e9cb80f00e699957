// What the step thread of a rank does in a training step, in order: computes, asks for collectives,
// waits for them. The engine's schedule (engine/training/trainer.cpp, engine/parallel) without its
// tensors, so that a step can be played before there is one. Pure functions.
//
// All ranks do the same at the same time. What a collective moves is what the engine reports of it,
// padding included; tests hold counts and bytes against engine/run/theory.
#pragma once

#include "engine/run/config/run_config.h"
#include "storage/model/events.h"
#include "storage/model/units.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace shardscope::planning {

/// Which ranks share a collective; each such group is a link of its own.
enum class Among : std::uint8_t {
    kShard,   ///< those that share one copy of the state: all, or a group of hsdp
    kAcross,  ///< those that hold the same shard in all groups of hsdp
};

struct StepTask {
    enum class Kind : std::uint8_t { kCompute, kAsk, kWait };
    Kind kind = Kind::kCompute;
    std::int32_t step = 0;
    Phase phase = Phase::kNone;  ///< of what computes or waits
    LayerIndex layer = kNoLayer;
    /// Of a phase that is cut by what is asked for within: the optimizer's.
    bool continues = false;
    std::int64_t elements = 0;  ///< that clip and optimizer work on; 0 elsewhere

    std::uint32_t collective = 0;  ///< number of what is asked or waited for
    CollectiveOp operation = CollectiveOp::kBarrier;
    Among among = Among::kShard;
    Bytes size;  ///< as CollectiveReport::sizeBytes
    Cause cause = Cause::kNone;
};

/// Of `steps` steps that follow each other, without validation; what an update leaves on its way
/// is waited for in the step after it. `config` is valid.
[[nodiscard]] std::vector<StepTask> stepTasks(const run::RunConfig& config, std::int32_t steps);

// How long a step takes whose tasks are known, by playing them: one thread that computes and waits,
// and a link for each group of ranks, on which collectives take turns. All ranks do the same at the
// same time, so that none waits for a late one. Pure functions.

struct StepCosts {
    std::function<Duration(const StepTask&)> computing;  ///< of kCompute
    std::function<Duration(const StepTask&)> moving;     ///< of kAsk, on a free link
    Duration wake;  ///< from the end of a collective until who waited for it goes on
    Duration rest;  ///< of a step, in which its thread does something else
};

struct PlayedStep {
    Duration time;
    Duration computing;  ///< of it, rest and all
    Duration updating;   ///< of that: clip and optimizer, whose elements ranks may share
    Duration waiting;    ///< of it: communication that nothing hides
    Duration moving;     ///< of the links, those of groups added up
    Duration late;       ///< of it, for ranks that compute for longer: added to what was played
};

/// The last of the steps that `tasks` has (stepTasks); play three or more, so that what one leaves
/// to the next is as it always is.
[[nodiscard]] PlayedStep playStep(const std::vector<StepTask>& tasks, const StepCosts& costs);
inline constexpr std::int32_t kPlayedSteps = 3;

}  // namespace shardscope::planning
