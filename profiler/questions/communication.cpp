#include "profiler/questions/communication.h"

#include "profiler/analysis/communication/host_clocks.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/intervals.h"

#include <utility>

namespace shardscope::questions {

Result<Communication> readCommunication(const Asked& asked) {
    const auto ranks = asked.events();
    if (!ranks) return failure(ranks);
    const analysis::DetailedPart part = analysis::detailedPart(asked.summary);
    const RecordingSummary& summary = part.of(asked.summary);
    const analysis::HostClocks clocks(summary, *ranks);
    Communication found;
    std::vector<analysis::Exposure> exposures;
    for (const RankEvents& events : *ranks) {
        const analysis::Intervals within = analysis::trainingTime(summary, events);
        const auto own = analysis::exposuresOf(events, *ranks, clocks, &within);
        exposures.insert(exposures.end(), own.begin(), own.end());
    }
    found.byLayer = analysis::sumsByLayer(exposures);
    found.reasons = analysis::sumsByReason(exposures);
    const auto whole = asked.wholeEvents();
    if (!whole) return failure(whole);
    found.transfers = analysis::transfersOf(*whole, clocks);
    found.classes = analysis::classesOf(found.transfers);
    found.skew = analysis::arrivalSkew(found.transfers);
    const analysis::Groups groups(*ranks);
    for (const analysis::Transfer& transfer : found.transfers)
        found.groups.try_emplace(transfer.group, groups.of(transfer.group));
    return found;
}

}  // namespace shardscope::questions
