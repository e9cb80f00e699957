// What a rank computes in a step and how long that takes, taken from a recording and carried over
// to another configuration. Pure functions.
//
// Each time is the median over steady steps of what a rank spent, its mean over ranks. Carried
// over, blocks and head take longer by their matrix products (model_theory.h, causal attention),
// embedding and batch by tokens, clip and optimizer by the elements a rank works on. What is the
// same model with the same batch is therefore as recorded; anything else is estimated. Ranks that
// have fewer cores than threads share them evenly.
#pragma once

#include "engine/run/config/run_config.h"
#include "profiler/planning/step_schedule.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"

#include <cstdint>
#include <vector>

namespace shardscope::planning {

struct ComputeTimes {
    run::RunConfig config;  ///< of the recording, without its hosts
    // A micro-step's.
    Duration data;
    Duration embed, embedBackward;       ///< all pieces of the token table
    Duration block, blockBackward;       ///< one
    Duration recompute;                  ///< one; as `block` where none was recorded
    Duration head;                       ///< all pieces
    double clipNs = 0, optimizerNs = 0;  ///< an element
    // A step's.
    Duration rest;  ///< the step's thread between its phases
    Duration wake;  ///< from the end of a collective until its waiter goes on
    /// Computing of a step over its median: the tenth and ninetieth hundredth of the steps.
    double low = 1, high = 1;
    std::int32_t ranksOnHost = 1;  ///< most of any host
    std::int32_t cores = 0;        ///< of that host; 0: not known, or a device computes
    std::int32_t steps = 0;        ///< that it is of
};

/// kUsage where the recording was not made by this engine, or has no steady step to learn from.
[[nodiscard]] Result<ComputeTimes> computeTimesOf(const RecordingSummary& summary,
                                                  const std::vector<RankEvents>& ranks);

/// By how much longer a rank computes where ranks have fewer cores than threads: threads over
/// cores, at least 1. `cores` 0: 1.
[[nodiscard]] double crowding(std::int32_t ranksOnHost, std::int32_t threads, std::int32_t cores);

/// Times of the tasks of another configuration, which outlives it.
class CarriedTimes {
public:
    /// `ranksOnHost`: of the other configuration, on hosts like the recorded one.
    CarriedTimes(const ComputeTimes& times, const run::RunConfig& config, std::int32_t ranksOnHost);
    [[nodiscard]] Duration of(const StepTask& task) const;
    [[nodiscard]] Duration rest() const;

private:
    const ComputeTimes& m_times;
    double m_crowding = 1;                           ///< of it over that of the recording
    double m_tokens = 1, m_blocks = 1, m_heads = 1;  ///< work over recorded work
    double m_embedding = 1;
    double m_tokenPieces = 1, m_headPieces = 1;  ///< tasks that share a time
};

}  // namespace shardscope::planning
