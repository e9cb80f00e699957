// Energy that training took, where devices' counters of energy were sampled.
//
// Joules a step: what all devices drew from the begin to the end of a step, mean over the steps
// with a sample before and behind. Joules a token: the same / tokens of all ranks in a step. A
// device that ranks share counts once, as its counter is of the whole of it; hosts' CPUs, fans and
// switches do not count.
#pragma once

#include "profiler/analysis/report.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope::analysis {

struct RunEnergy {
    std::optional<double> joulesPerStep, joulesPerToken;  ///< of all devices
    std::string missing;  ///< why they are absent: no capital, no stop
};
/// `devices`: of all ranks that have one.
[[nodiscard]] RunEnergy runEnergy(const std::vector<DeviceUse>& devices, std::size_t ranks);

}  // namespace shardscope::analysis
