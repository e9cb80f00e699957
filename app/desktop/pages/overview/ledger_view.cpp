#include "app/desktop/pages/overview/ledger_view.h"

#include <algorithm>
#include <set>

namespace shardscope::desktop {
using analysis::LedgerRow;

double share(Duration part, Duration whole) {
    return whole.ns > 0 ? static_cast<double>(part.ns) / static_cast<double>(whole.ns) : 0;
}

LedgerView selectLedger(const OpenRecording& recording, const Selection& selection) {
    LedgerView view;
    std::optional<StepSpan> steps;
    if (selection.cutsTime()) steps = recording.stepsOf(selection);
    std::set<RankId> ranks;
    for (const LedgerRow& row : recording.report.ledger) {
        if (!selection.includes(row.rank)) continue;
        if (selection.cutsTime() && (!steps || !steps->contains(row.step))) continue;
        view.rows.push_back(row);
        ranks.insert(row.rank);
        if (!view.first || row.step < *view.first) view.first = row.step;
        if (!view.last || row.step > *view.last) view.last = row.step;
    }
    view.ranks.assign(ranks.begin(), ranks.end());
    return view;
}

}  // namespace shardscope::desktop
