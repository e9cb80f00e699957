#include "profiler/analysis/rules/rule.h"
#include "storage/model/quantity_text.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

namespace shardscope::analysis {
namespace {

struct DataTime {
    Duration data, wall;
    [[nodiscard]] double share() const {
        return wall.ns == 0 ? 0 : static_cast<double>(data.ns) / static_cast<double>(wall.ns);
    }
    void add(const LedgerRow& row) {
        data += row.parts[at(LedgerPart::kData)];
        wall += row.wall;
    }
};

/// Of a program of the user's: a run of ours has no loader to set up.
std::string remedyOf(const RecordingSummary& summary) {
    if (sourceOf(summary.run) == RecordingSource::kOwnRun)
        return "look at the disk and at what else reads there";
    return "give the DataLoader more workers (num_workers, persistent_workers, prefetch_factor), "
           "or do less for each sample: decode and tokenize ahead";
}

}  // namespace

MaybeFinding findDataBound(const RuleInput& input) {
    DataTime all;
    std::size_t steps = 0;
    for (const auto& [step, rows] : input.rows) {
        DataTime ofStep;
        for (const LedgerRow* row : rows) ofStep.add(*row);
        steps += ofStep.share() >= kLeastDataBound ? 1 : 0;
        all.data += ofStep.data;
        all.wall += ofStep.wall;
    }
    if (input.rows.empty() || all.share() < kLeastDataBound ||
        static_cast<double>(steps) < kRegularlyIdle * static_cast<double>(input.rows.size()))
        return std::nullopt;
    RunFinding finding;
    finding.code = "data-bound";
    finding.severity = Severity::kWarning;
    finding.title = fmt::format("Ranks wait for data for {:.0f} % of the steps", 100 * all.share());
    finding.detail = fmt::format(
        "In {} of {} steps {:.0f} % or more went into getting the batch, {} of {} in all.", steps,
        input.rows.size(), 100 * kLeastDataBound, durationText(all.data), durationText(all.wall));
    finding.remedy = remedyOf(input.summary);
    finding.cost = all.data;
    finding.steps = {input.rows.begin()->first, input.rows.rbegin()->first};
    finding.range = rangeOf(input.summary, finding.steps->first, finding.steps->second);
    finding.denominator = "wall time of the compared steps, over ranks";
    finding.evidence = {{"data_ns", static_cast<double>(all.data.ns)},
                        {"share", all.share()},
                        {"steps", static_cast<double>(steps)}};
    return finding;
}

}  // namespace shardscope::analysis
