// How long steps take on a machine that was calibrated, before anything was trained on it. Pure
// functions; everything is estimated.
#pragma once

#include "profiler/planning/calibration.h"
#include "profiler/planning/compute_rates.h"
#include "profiler/planning/plan_times.h"

#include <cstdint>
#include <optional>

namespace shardscope::planning {

/// This engine on CPUs, of the peak of matrix products of the cores that it has: 0.79 was measured
/// (docs/plan_and_bench.md).
inline constexpr Utilisation kCpuUtilisation{0.75, 0.6, 0.9};

/// All ranks on the calibrated host, which share its cores; the link is what was fitted over the
/// communicator that `config` would use, of any number of ranks. Absent where products of this
/// precision or memory were not measured. `nowS`: unix seconds, for the age.
[[nodiscard]] std::optional<PlanTimes> timesOfCalibration(const Calibration& calibration,
                                                          const run::RunConfig& config,
                                                          std::int64_t nowS);

}  // namespace shardscope::planning
