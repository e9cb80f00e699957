#include "profiler/analysis/energy.h"

#include <fmt/format.h>

#include <map>

namespace shardscope::analysis {
namespace {

/// Mean over the ranks that read the same counter.
struct Counter {
    double joules = 0;
    double ranks = 0;
};

/// Ranks whose device does not say which it is have one each.
std::string keyOf(const DeviceUse& use) {
    return use.device.uuid.empty() ? fmt::format("rank {}", use.device.rank.value)
                                   : use.device.uuid;
}

}  // namespace

RunEnergy runEnergy(const std::vector<DeviceUse>& devices, std::size_t ranks) {
    RunEnergy told;
    if (devices.empty()) {
        told.missing = "no rank has a device whose energy could be sampled";
        return told;
    }
    std::map<std::string, Counter> counters;
    double tokens = 0;
    for (const DeviceUse& use : devices) {
        if (!use.joulesPerStep) {
            told.missing = fmt::format("the energy of rank {}'s device was not sampled",
                                       use.device.rank.value);
            return told;
        }
        Counter& counter = counters[keyOf(use)];
        counter.joules += *use.joulesPerStep;
        ++counter.ranks;
        if (use.joulesPerToken && *use.joulesPerToken > 0)
            tokens += *use.joulesPerStep / *use.joulesPerToken;
    }
    if (devices.size() < ranks) {
        told.missing = "some ranks have no device whose energy could be sampled";
        return told;
    }
    double joules = 0;
    for (const auto& [key, counter] : counters) joules += counter.joules / counter.ranks;
    told.joulesPerStep = joules;
    if (tokens > 0) told.joulesPerToken = joules / tokens;
    return told;
}

}  // namespace shardscope::analysis
