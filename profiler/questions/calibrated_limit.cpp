#include "profiler/questions/calibrated_limit.h"

#include "engine/run/config/run_config.h"
#include "profiler/analysis/findings.h"
#include "profiler/planning/calibration_store.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardscope::questions {
namespace {

/// Gives collectives their calibrated time, and notes how many.
class LimitCosts {
public:
    LimitCosts(const run::RunConfig& config, const planning::Calibration& calibration)
        : m_calibration(calibration),
          m_communicator(run::communicatorOf(config)),
          m_ranks(config.ranks),
          m_hosts(std::max(1, run::placesOf(config).hosts())) {}

    std::optional<Duration> of(const CollectiveEvent& event) {
        const auto cost =
            event.group == 0 && moves(event.operation) && event.size != kUnknownSize
                ? planning::costOf(m_calibration, event.operation, m_communicator, m_ranks, m_hosts)
                : std::nullopt;
        if (!cost) {
            ++m_found.kept;
            return std::nullopt;
        }
        ++m_found.collectives;
        m_found.estimated = m_found.estimated || !cost->measured;
        if (m_found.oldest == nullptr || cost->from->unixS < m_found.oldest->unixS)
            m_found.oldest = cost->from;
        return Duration{std::llround(cost->cost.latencyNs +
                                     cost->cost.nsPerByte * static_cast<double>(event.size.count))};
    }
    [[nodiscard]] const CalibratedLimit& found() const { return m_found; }

private:
    const planning::Calibration& m_calibration;
    const run::CommunicatorKind m_communicator;
    const std::int32_t m_ranks, m_hosts;
    CalibratedLimit m_found;
};

}  // namespace

std::optional<CalibratedLimit> calibratedLimit(const RecordingSummary& summary,
                                               const std::vector<RankEvents>& ranks,
                                               const planning::Calibration& calibration) {
    const auto config = run::parseRunConfigJson(summary.run.configJson);
    if (!config) return std::nullopt;
    LimitCosts costs(*config, calibration);
    std::vector<analysis::Overlap> overlaps;
    for (const RankEvents& events : ranks) {
        if (analysis::sharesDevice(summary, events.rank)) continue;
        analysis::addOverlapLimit(events, analysis::trainingTime(summary, events),
                                  overlaps.emplace_back(),
                                  [&](const CollectiveEvent& event) { return costs.of(event); });
    }
    const auto share = analysis::sumOf(overlaps).limit();
    if (!share || costs.found().collectives == 0) return std::nullopt;
    CalibratedLimit found = costs.found();
    found.share = *share;
    return found;
}

std::optional<planning::Calibration> calibrationFor(const RecordingSummary& summary) {
    const auto config = run::parseRunConfigJson(summary.run.configJson);
    const auto first = std::find_if(summary.hosts.begin(), summary.hosts.end(),
                                    [](const HostFacts& host) { return host.host == 0; });
    if (!config || first == summary.hosts.end()) return std::nullopt;
    auto found = planning::findCalibration(first->name, config->device);
    return found ? std::move(*found) : std::nullopt;
}

}  // namespace shardscope::questions
