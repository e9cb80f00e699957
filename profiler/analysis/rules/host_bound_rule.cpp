#include "engine/run/config/run_config.h"
#include "profiler/analysis/rules/rule.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

namespace shardscope::analysis {
namespace {

struct IdleTime {
    Duration idle, wall;
    [[nodiscard]] double share() const {
        return wall.ns == 0 ? 0 : static_cast<double>(idle.ns) / static_cast<double>(wall.ns);
    }
    void add(const LedgerRow& row) {
        idle += row.parts[at(LedgerPart::kHostBound)];
        wall += row.wall;
    }
};

/// A run of ours whose host also recorded every operator and tensor meanwhile.
bool recordedAll(const Result<run::RunConfig>& config) {
    return config && config->capture == CaptureLevel::kFull;
}

std::string remedyOf(const Result<run::RunConfig>& config) {
    if (!config) return "launch many kernels as one CUDA graph, or give each more to do";
    std::string text = recordedAll(config)
                           ? "record once more at --capture light, which leaves the host more "
                             "time; then "
                           : "";
    run::RunConfig captured = *config;
    captured.graphs = true;
    const bool possible = !config->graphs && run::validate(captured).has_value();
    return text + (possible ? "launch micro-steps as one with --graphs, or take a larger --batch"
                            : "give each launch more to do: a larger --batch");
}

}  // namespace

MaybeFinding findHostBound(const RuleInput& input) {
    IdleTime all;
    std::size_t idleSteps = 0;
    for (const auto& [step, rows] : input.rows) {
        IdleTime ofStep;
        for (const LedgerRow* row : rows) ofStep.add(*row);
        idleSteps += ofStep.share() >= kLeastHostBound ? 1 : 0;
        all.idle += ofStep.idle;
        all.wall += ofStep.wall;
    }
    if (input.rows.empty() || all.share() < kLeastHostBound ||
        static_cast<double>(idleSteps) < kRegularlyIdle * static_cast<double>(input.rows.size()))
        return std::nullopt;
    const auto config = run::parseRunConfigJson(input.summary.run.configJson);
    RunFinding finding;
    finding.code = "host-bound";
    finding.severity = recordedAll(config) ? Severity::kNote : Severity::kWarning;
    finding.title =
        fmt::format("Devices wait for the host for {:.0f} % of the steps", 100 * all.share());
    finding.detail = fmt::format(
        "In {} of {} steps everything launched was done, and the host had not launched the next "
        "kernel yet.{}",
        idleSteps, input.rows.size(),
        recordedAll(config) ? " Full recording takes time of the same thread." : "");
    finding.remedy = remedyOf(config);
    finding.cost = all.idle;
    finding.steps = {input.rows.begin()->first, input.rows.rbegin()->first};
    finding.range = rangeOf(input.summary, finding.steps->first, finding.steps->second);
    finding.denominator = "wall time of the compared steps, over ranks";
    finding.evidence = {{"idle_ns", static_cast<double>(all.idle.ns)},
                        {"share", all.share()},
                        {"steps", static_cast<double>(idleSteps)}};
    return finding;
}

}  // namespace shardscope::analysis
