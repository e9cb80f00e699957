// A row of a plan, and which row to take. Pure functions.
#pragma once

#include "profiler/planning/forecast.h"
#include "storage/model/units.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope::planning {

struct StrategyPlan {
    std::string word;  ///< as `record --strategy` takes it where it does
    std::string name;
    double stateBytesPerRank = 0;
    std::optional<double> peakBytesPerRank;  ///< absent: activations are not known
    double communicationBytesPerStep = 0;    ///< that a rank sends; as much is received
    std::optional<bool> fits;                ///< absent: the device's memory is not known
    std::optional<Forecast> forecast;        ///< absent: nothing says how long a step takes
    std::string timeUnknown;                 ///< why that is, a phrase; empty: nothing was asked
    std::optional<double> tippingTokens;     ///< tippingTokens(); with a forecast
    bool recommended = false;
    std::string reason;  ///< a sentence; of what does not fit, what it lacks
};

/// Of a device's memory, what state may take: the rest is for activations, gathered parameters,
/// buffers and the context.
inline constexpr double kStateShare = 0.8;

/// Whether its peak fits into a device's memory, or where that is not known its state into the part
/// that state may take.
[[nodiscard]] bool fitsInto(const StrategyPlan& plan, Bytes memory);

/// Marks the fastest of those that fit, or where that is not known what sends least, of equals the
/// first, and says of those that fit why they are or are not it. None where nothing fits or where
/// it is unknown.
void recommend(std::vector<StrategyPlan>& plans);

}  // namespace shardscope::planning
