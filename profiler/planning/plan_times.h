// What says how long a plan's steps take: a recording, or a device's data sheet
// (engine/run/theory/device_peaks.h) and what training is known to reach of it. Pure functions.
#pragma once

#include "profiler/planning/compute_times.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::planning {

/// What is said before all that is estimated from steps whose ranks lacked cores for this share of
/// them (analysis::CoreUse::takenOfSteps), a phrase; empty below analysis::kNotedTaken. `run`: "the
/// run", or the name of a recording.
[[nodiscard]] std::string coresDoubt(double takenOfSteps, std::string_view run);

/// As many as a run may have.
inline constexpr std::int32_t kMostPlannedRanks = 1024;

/// What says how long steps take; they are asked for the number of ranks of a host.
struct PlanTimes {
    std::vector<ComputeTimes> computing;  ///< at least one: forecasts go by timesFor()
    std::optional<LinkTimes> link;        ///< absent: nothing is known of it, so only one rank is
    std::int32_t ranksOnHost = 1;         ///< at most
    std::int32_t linkReach = 0;           ///< ranks that the link joins at most; 0: any number
    std::string source;  ///< of the computing, with the error of the model; a phrase
    /// What limits all forecasts, to be said before them, a phrase: the recorded ranks lacked
    /// cores. Empty: nothing.
    std::string doubt;
    /// Of the first of `computing`: how long the model plays its step, over the recorded one, less
    /// 1. Absent: unknown, and `source` says why, or there is no recording.
    std::optional<double> replayError;
};
/// Those of as many ranks on a host, or of the most below that, or of the fewest.
[[nodiscard]] const ComputeTimes& timesFor(const PlanTimes& times, std::int32_t ranksOnHost);

/// A link that joins the ranks of a host joins so many then.
void setRanksOnHost(PlanTimes& times, std::int32_t ranks);

/// Ranks up to which the link is known: one without a link.
[[nodiscard]] std::int32_t mostForecast(const PlanTimes& times);

/// `name`: of the recording, for sentences. Errors as of computeTimesOf().
[[nodiscard]] Result<PlanTimes> timesOfRecording(const RecordingSummary& summary,
                                                 const std::vector<RankEvents>& ranks,
                                                 const std::string& name);

/// Ranks that a host's fast links join, by default.
inline constexpr std::int32_t kDevicesOfAHost = 8;

/// Absent where the table has no peak at the run's precision or no memory bandwidth. The link is
/// one direction of NVLink, without latency, within a host.
[[nodiscard]] std::optional<PlanTimes> timesOfDevice(
    std::string_view device, const run::RunConfig& config,
    double utilisation = kUsualUtilisation.expected);

}  // namespace shardscope::planning
