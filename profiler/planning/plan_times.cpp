#include "profiler/planning/plan_times.h"

#include "engine/run/theory/device_peaks.h"
#include "profiler/analysis/steps/cores_taken.h"
#include "profiler/planning/forecast.h"
#include "storage/model/quantity_text.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardscope::planning {
namespace {

/// One direction of what the data sheet says of both.
std::optional<LinkTimes> linkOfDevice(std::string_view device) {
    const auto link = theory::nvlinkBandwidth(device);
    if (!link.value) return std::nullopt;
    return LinkTimes(
        {0, link.value->bytesPerSecond / 2},
        fmt::format("links between devices by {}, without latency", link.value->source));
}

Utilisation around(double expected) {
    const double factor = expected / kUsualUtilisation.expected;
    return {expected, kUsualUtilisation.low * factor,
            std::min(1.0, kUsualUtilisation.high * factor)};
}

/// The recorded step as the model plays it. kUsage: why that is unknown.
Result<Duration> replayed(const ComputeTimes& computing, const std::optional<LinkTimes>& link) {
    const bool alone = computing.config.ranks == 1;
    if (!alone && !link)
        return failure(ErrorCode::kUsage, "nothing is known of the link between ranks");
    if (!computing.recorded) return failure(ErrorCode::kUsage, "it has no median step");
    const Forecast played =
        forecast(computing.config, {computing, alone ? nullptr : &*link, computing.ranksOnHost});
    if (!played.unknown.empty()) return failure(ErrorCode::kUsage, played.unknown);
    return played.step.time;
}

std::string errorText(std::optional<double> error, const Result<Duration>& played) {
    if (!error)
        return fmt::format("the error of the model on its step is unknown ({})",
                           played.error().message);
    return fmt::format("the model plays its step {:.1f} % {} than recorded", 100 * std::abs(*error),
                       *error < 0 ? "shorter" : "longer");
}

}  // namespace

std::string coresDoubt(double takenOfSteps, std::string_view run) {
    if (takenOfSteps < analysis::kNotedTaken) return {};
    return fmt::format(
        "the ranks of {} were without a core for {:.0f} % of step time: what is estimated from it "
        "holds for a machine as busy as that, and is unknown for one with free cores",
        run, 100 * takenOfSteps);
}

const ComputeTimes& timesFor(const PlanTimes& times, std::int32_t ranksOnHost) {
    const auto misses = [ranksOnHost](const ComputeTimes& each) {
        const bool over = each.ranksOnHost > ranksOnHost;
        return std::pair(over, over ? each.ranksOnHost : -each.ranksOnHost);
    };
    return *std::min_element(
        times.computing.begin(), times.computing.end(),
        [&](const ComputeTimes& a, const ComputeTimes& b) { return misses(a) < misses(b); });
}

void setRanksOnHost(PlanTimes& times, std::int32_t ranks) {
    times.ranksOnHost = ranks;
    if (times.linkReach > 0) times.linkReach = ranks;
}

std::int32_t mostForecast(const PlanTimes& times) {
    if (!times.link) return 1;
    return times.linkReach > 0 ? times.linkReach : kMostPlannedRanks;
}

Result<PlanTimes> timesOfRecording(const RecordingSummary& summary,
                                   const std::vector<RankEvents>& ranks, const std::string& name) {
    auto computing = computeTimesOf(summary, ranks);
    if (!computing) return failure(computing);
    PlanTimes times;
    times.ranksOnHost = computing->ranksOnHost;
    times.source =
        fmt::format("computing as {} recorded, {}", name, counted(computing->steps, "step"));
    times.doubt = coresDoubt(computing->withoutCore, name);
    times.computing.push_back(std::move(*computing));
    times.link = linkOf(summary, ranks);
    ComputeTimes& own = times.computing.front();
    const auto step = replayed(own, times.link);
    if (step) {
        own.replayed = *step;
        times.replayError = step->seconds() / own.recorded->seconds() - 1;
    }
    times.source += "; " + errorText(times.replayError, step);
    return times;
}

std::optional<PlanTimes> timesOfDevice(std::string_view device, const run::RunConfig& config,
                                       double utilisation) {
    const auto peak = theory::devicePeak(device, toWord(config.precision));
    const auto memory = theory::memoryBandwidth(device);
    if (!peak.value || !memory.value) return std::nullopt;
    PlanTimes times;
    times.computing.push_back(
        timesAt(config, {peak.value->flops, memory.value->bytesPerSecond, peak.value->source},
                around(utilisation)));
    times.link = linkOfDevice(device);
    times.ranksOnHost = times.linkReach = kDevicesOfAHost;
    times.source = fmt::format(
        "matrix products at {:.0f} % of {} ({}), as this engine reaches some 41 to 51 % on an H200",
        100 * utilisation, device, peak.value->source);
    return times;
}

}  // namespace shardscope::planning
