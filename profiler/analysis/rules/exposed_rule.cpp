#include "engine/run/config/run_config.h"
#include "profiler/analysis/rules/rule.h"
#include "storage/model/quantity_text.h"
#include "storage/model/recording.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

namespace shardscope::analysis {
namespace {

bool gathersOnDemand(const Result<run::RunConfig>& config) {
    return config && config->strategy == run::Strategy::kZero3 && config->prefetch == 0 &&
           config->ranks > 1;
}

}  // namespace

MaybeFinding findExposedCommunication(const RuleInput& input) {
    if (input.rows.size() < kLeastSteps) return std::nullopt;
    Duration moving, gathers;
    for (const auto& [step, rows] : input.rows)
        for (const LedgerRow* row : rows) {
            moving += blockedIn(row->parts) - row->parts[at(LedgerPart::kWaiting)];
            gathers += row->parts[at(LedgerPart::kExposedGather)];
        }
    const double wall = wallOf(input).seconds();
    if (wall <= 0) return std::nullopt;
    const double share = moving.seconds() / wall;
    const auto config = run::parseRunConfigJson(input.summary.run.configJson);
    const bool onDemand = gathersOnDemand(config) && gathers.seconds() >= kLeastOnDemand * wall;
    if (!onDemand && share < kLeastBlockedMoving) return std::nullopt;
    const Overlap& overlap = input.report.overlap;
    RunFinding finding;
    finding.code = "communication-exposed";
    finding.severity = onDemand ? Severity::kWarning : Severity::kNote;
    finding.title =
        fmt::format("Ranks are blocked for {:.0f} % of the steps while data moves", 100 * share);
    if (const auto hidden = overlap.ratio())
        finding.detail =
            fmt::format("{:.1f} % of communication is hidden behind compute.", 100 * *hidden);
    if (const auto limit = overlap.limit())
        finding.detail +=
            fmt::format(" This schedule can hide {:.1f} % of moving data at most.", 100 * *limit);
    if (onDemand)
        finding.detail +=
            " Each block's parameters are gathered when they are needed (--prefetch "
            "0), with no compute to hide the gather behind.";
    const bool isOwn = sourceOf(input.summary.run) == RecordingSource::kOwnRun;
    finding.remedy = onDemand ? "gather ahead: --prefetch 1"
                              : fmt::format(
                                    "give each transfer more compute to hide behind ({}), or use a "
                                    "faster link",
                                    isOwn ? "--batch, --accumulate, --keep-gathered"
                                          : "larger batches, gradients of several added up");
    finding.cost = onDemand ? gathers : moving;  // what the remedy is for
    finding.steps = {input.rows.begin()->first, input.rows.rbegin()->first};
    finding.range = rangeOf(input.summary, finding.steps->first, finding.steps->second);
    finding.denominator = "wall time of the compared steps, over ranks";
    finding.evidence = {{"blocked_ns", static_cast<double>(moving.ns)}, {"share", share}};
    return finding;
}

}  // namespace shardscope::analysis
