#include "profiler/planning/calibrated_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace shardscope::planning {
namespace {

/// Threads of a rank, as a run settles them.
std::int32_t threadsOf(const run::RunConfig& config, std::int32_t cores) {
    if (config.threads > 0) return config.threads;
    return std::max(1, cores / config.ranks);
}

/// Of each operation what was measured among most ranks.
std::optional<LinkTimes> linkOf(const Calibration& calibration, const run::RunConfig& config) {
    const run::CommunicatorKind wanted = run::communicatorOf(config);
    std::map<CollectiveOp, const CollectiveCost*> chosen;
    for (const CollectiveCost& each : calibration.collectives) {
        if (each.communicator != wanted || each.hosts != 1 || each.ranks < 2) continue;
        const CollectiveCost*& kept = chosen[each.operation];
        if (kept == nullptr || each.ranks > kept->ranks) kept = &each;
    }
    if (chosen.empty()) return std::nullopt;
    LinkTimes link({}, fmt::format("{} as calibrated", entryOf(wanted)->name));
    for (const auto& [operation, cost] : chosen) link.set(operation, cost->ranks, cost->fit);
    return link;
}

}  // namespace

std::optional<PlanTimes> timesOfCalibration(const Calibration& calibration,
                                            const run::RunConfig& config, std::int64_t nowS) {
    const auto flops = matmulFlops(calibration, config.precision);
    const auto bytes = rateOf(calibration, run::MachineFigure::kTriad);
    if (!flops || !bytes) return std::nullopt;
    const bool cpu = calibration.kind == run::Device::kCpu;
    const Utilisation& utilisation = cpu ? kCpuUtilisation : kUsualUtilisation;
    run::RunConfig own = config;
    double share = 1;
    if (cpu) {
        own.threads = threadsOf(config, calibration.cores);
        share = std::min(1.0, static_cast<double>(own.threads) / calibration.cores);
    }
    PlanTimes times;
    ComputeTimes computing =
        timesAt(own, {share * *flops, share * *bytes, "calibrate"}, utilisation);
    computing.ranksOnHost = 1;
    computing.cores = cpu ? calibration.cores : 0;
    times.computing.push_back(computing);
    times.link = linkOf(calibration, config);
    times.ranksOnHost = kMostPlannedRanks;
    times.source =
        fmt::format("matrix products at {:.0f} % of what `calibrate` measured on {} {} ago",
                    100 * utilisation.expected, calibration.host, ageText(calibration.unixS, nowS));
    return times;
}

}  // namespace shardscope::planning
