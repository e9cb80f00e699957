// The most of its communication that a recorded schedule could hide if collectives took what
// calibrate has measured of this machine's link instead of what they took beside compute. Pure.
#pragma once

#include "profiler/planning/calibration.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace shardscope::questions {

struct CalibratedLimit {
    double share = 0;              ///< hidden / communication, all ranks, of the pipeline model
    std::int64_t collectives = 0;  ///< that took alpha + beta x size
    std::int64_t kept = 0;         ///< that took what they did: never calibrated, or of a subgroup
    const planning::CollectiveCost* oldest = nullptr;  ///< of those used, in `calibration`
    bool estimated = false;  ///< some were measured with other numbers of ranks
};

/// Nothing where the calibration has none of the run's collectives, or the schedule is not known.
[[nodiscard]] std::optional<CalibratedLimit> calibratedLimit(
    const RecordingSummary& summary, const std::vector<RankEvents>& ranks,
    const planning::Calibration& calibration);

/// That of the recording's first host and its kind of device; nothing: there is none that can be
/// read. Reads a small file.
[[nodiscard]] std::optional<planning::Calibration> calibrationFor(const RecordingSummary& summary);

}  // namespace shardscope::questions
