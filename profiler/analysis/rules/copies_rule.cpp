#include "profiler/analysis/rules/rule.h"
#include "storage/model/quantity_text.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

namespace shardscope::analysis {

MaybeFinding findCopies(const RuleInput& input) {
    Duration copies, whole;
    for (const DeviceUse& use : input.report.devices) {
        if (!use.traced) continue;
        copies += use.copies;
        whole += use.whole();
    }
    const double share = whole.ns > 0 ? copies.seconds() / whole.seconds() : 0;
    if (share < kLeastCopies) return std::nullopt;
    const bool ofSteps = input.report.withinSteps;
    RunFinding finding;
    finding.code = "device-copies";
    finding.severity = Severity::kWarning;
    finding.title = fmt::format("Devices only copy memory for {:.0f} % of {}", 100 * share,
                                ofSteps ? "the steps" : "the time");
    finding.detail = fmt::format(
        "Copies and sets of memory run for {} of {} with no kernel beside "
        "them.",
        durationText(copies), durationText(whole));
    finding.remedy =
        "keep data on the device, copy from pinned memory, or copy on a stream of its own while "
        "kernels run";
    finding.cost = copies;
    if (ofSteps && !input.rows.empty()) {
        finding.steps = {input.rows.begin()->first, input.rows.rbegin()->first};
        finding.range = rangeOf(input.summary, finding.steps->first, finding.steps->second);
    }
    finding.denominator = ofSteps ? "steps' time without validation, over devices"
                                  : "time from the first kernel to the last, over devices";
    finding.evidence = {{"copies_ns", static_cast<double>(copies.ns)}, {"share", share}};
    return finding;
}

}  // namespace shardscope::analysis
