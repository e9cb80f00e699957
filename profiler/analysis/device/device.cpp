#include "engine/run/config/run_config.h"
#include "engine/run/theory/theory.h"
#include "profiler/analysis/findings.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <utility>
#include <vector>

namespace shardscope::analysis {
namespace {

const DeviceFacts* deviceOf(const RecordingSummary& summary, RankId rank) {
    for (const DeviceFacts& device : summary.devices)
        if (device.rank == rank) return &device;
    return nullptr;
}

/// Interpolated between the samples around it; nothing outside of them.
std::optional<double> energyAt(const std::vector<CounterEvent>& samples, Timestamp time) {
    const auto after =
        std::lower_bound(samples.begin(), samples.end(), time,
                         [](const CounterEvent& sample, Timestamp t) { return sample.time < t; });
    if (after == samples.end()) return std::nullopt;
    if (after->time == time) return after->value;
    if (after == samples.begin()) return std::nullopt;
    const CounterEvent& before = *std::prev(after);
    const double share = static_cast<double>((time - before.time).ns) /
                         static_cast<double>((after->time - before.time).ns);
    return before.value + share * (after->value - before.value);
}

void takeEnergy(const RecordingSummary& summary, const RankEvents& events, DeviceUse& use) {
    double joules = 0;
    std::int64_t steps = 0;
    std::int64_t tokens = 0;
    for (const StepFacts& step : summary.steps) {
        if (step.rank != events.rank) continue;
        const auto begin = energyAt(events.energy, step.start);
        const auto end = energyAt(events.energy, step.end);
        if (!begin || !end) continue;
        joules += *end - *begin;
        tokens += step.tokens;
        ++steps;
    }
    if (steps == 0 || joules <= 0) return;
    use.joulesPerStep = joules / static_cast<double>(steps);
    if (tokens > 0) use.joulesPerToken = joules / static_cast<double>(tokens);
}

/// `within` in order and disjoint.
std::int64_t startingIn(const std::vector<TimeRange>& kernels, const Intervals& within) {
    return std::count_if(kernels.begin(), kernels.end(), [&](const TimeRange& kernel) {
        const auto after = std::upper_bound(
            within.begin(), within.end(), kernel.begin,
            [](Timestamp time, const TimeRange& range) { return time < range.begin; });
        return after != within.begin() && kernel.begin < std::prev(after)->end;
    });
}

}  // namespace

bool sharesDevice(const RecordingSummary& summary, RankId rank) {
    const DeviceFacts* device = deviceOf(summary, rank);
    return device != nullptr && device->sharedBy > 1;
}

std::optional<DeviceUse> deviceUse(const RecordingSummary& summary, const RankEvents& events,
                                   std::vector<TimeRange> copies) {
    const DeviceFacts* device = deviceOf(summary, events.rank);
    if (device == nullptr) return std::nullopt;
    DeviceUse use;
    use.device = *device;
    const Intervals training = trainingTime(summary, events);
    const Intervals compute = intersection(unionOf(events.computeKernels), training);
    const Intervals communication = intersection(unionOf(events.communicationKernels), training);
    use.traced = !events.computeKernels.empty() || !events.communicationKernels.empty();
    use.kernels = startingIn(events.computeKernels, training) +
                  startingIn(events.communicationKernels, training);
    use.compute = total(compute);
    use.communication = total(communication);
    use.hidden = common(compute, communication);
    const Intervals idle = difference(training, unionOf(compute, communication));
    use.idle = total(idle);
    use.copies = common(idle, unionOf(std::move(copies)));
    takeEnergy(summary, events, use);
    return use;
}

std::optional<double> measuredPeakUse(const RecordingSummary& summary,
                                      std::optional<double> tokensPerSecond) {
    double peak = 0;
    for (const DeviceFacts& device : summary.devices) peak += device.measuredPeak.value_or(0);
    const bool all =
        std::all_of(summary.devices.begin(), summary.devices.end(), [](const DeviceFacts& each) {
            return each.measuredPeak.has_value() && each.sharedBy == 1;
        });
    const auto config = run::parseRunConfigJson(summary.run.configJson);
    if (summary.devices.empty() || !all || !tokensPerSecond || !config || peak <= 0) {
        return std::nullopt;
    }
    return *tokensPerSecond * theory::palmFlopsPerToken(config->model) / peak;
}

}  // namespace shardscope::analysis
