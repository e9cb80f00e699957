#include "profiler/planning/link_times.h"

#include "engine/run/config/run_settings.h"
#include "profiler/analysis/host_clocks.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace shardscope::planning {
namespace {

constexpr double kNanosecond = 1e-9;

/// Rounds of the ring: an all-reduce gathers what it has scattered.
double roundsOf(CollectiveOp operation) {
    return operation == CollectiveOp::kAllReduce ? 2 : 1;
}

theory::LinkModel meanOf(const std::map<CollectiveOp, theory::LinkModel>& known) {
    theory::LinkModel mean;
    double secondsPerByte = 0;
    for (const auto& [operation, link] : known) {
        mean.latencySeconds += link.latencySeconds / static_cast<double>(known.size());
        secondsPerByte += 1 / link.bytesPerSecond / static_cast<double>(known.size());
    }
    mean.bytesPerSecond = 1 / secondsPerByte;
    return mean;
}

}  // namespace

LinkTimes::LinkTimes(const theory::LinkModel& link, std::string source)
    : m_link(link), m_source(std::move(source)) {}

void LinkTimes::set(CollectiveOp operation, std::int32_t ranks, const analysis::AlphaBeta& fit) {
    if (ranks < 2) return;
    const double hops = ranks - 1, rounds = roundsOf(operation);
    theory::LinkModel link;
    link.latencySeconds = fit.latencyNs * kNanosecond / hops / rounds;
    link.bytesPerSecond = fit.nsPerByte > 0 ? rounds * hops / ranks / (fit.nsPerByte * kNanosecond)
                                            : std::numeric_limits<double>::max();
    m_known[operation] = link;
    m_link = meanOf(m_known);
}

const theory::LinkModel& LinkTimes::model(CollectiveOp operation) const {
    const auto found = m_known.find(operation);
    return found == m_known.end() ? m_link : found->second;
}

Duration LinkTimes::of(CollectiveOp operation, std::int32_t ranks, Bytes size) const {
    return {theory::modelledNs(model(operation), operation, ranks, size.count)};
}

LinkTimes LinkTimes::scaled(double latency, double bandwidth) const {
    LinkTimes other = *this;
    const auto scale = [&](theory::LinkModel& link) {
        link.latencySeconds *= latency;
        link.bytesPerSecond *= bandwidth;
    };
    scale(other.m_link);
    for (auto& [operation, link] : other.m_known) scale(link);
    return other;
}

std::optional<LinkTimes> takeGivenLink(run::RunConfig& config) {
    const double gigabytes = std::exchange(config.linkGigabytesPerSecond, 0);
    const double microseconds = std::exchange(config.linkLatencyMicroseconds, 0);
    if (gigabytes <= 0) return std::nullopt;
    return LinkTimes({microseconds * 1e-6, gigabytes * 1e9},
                     fmt::format("a link of {:g} us and {:g} GB/s", microseconds, gigabytes));
}

std::optional<LinkTimes> modelledLinkOf(const run::RunConfig& config) {
    if (config.linkGigabytesPerSecond <= 0) return std::nullopt;
    return LinkTimes({config.linkLatencyMicroseconds * 1e-6, config.linkGigabytesPerSecond * 1e9},
                     run::modelledLink(config));
}

std::optional<LinkTimes> linkOf(const RecordingSummary& summary,
                                const std::vector<RankEvents>& ranks) {
    if (const auto config = run::parseRunConfigJson(summary.run.configJson))
        if (const auto modelled = modelledLinkOf(*config)) return modelled;
    std::optional<LinkTimes> found;
    const analysis::HostClocks clocks(summary, ranks);
    for (const auto& each : analysis::classesOf(analysis::transfersOf(ranks, clocks))) {
        if (!each.fit || each.group != 0 || each.ranks < 2) continue;
        if (!found) found.emplace(theory::LinkModel{}, "fitted to the recorded collectives");
        found->set(each.operation, each.ranks, *each.fit);
    }
    return found;
}

}  // namespace shardscope::planning
