#include "app/desktop/pages/overview/ledger_view.h"

#include <cstdint>
#include <set>

namespace shardscope::desktop {
using analysis::LedgerRow;

double share(Duration part, Duration whole) {
    return whole.ns > 0 ? static_cast<double>(part.ns) / static_cast<double>(whole.ns) : 0;
}

int LedgerView::steps() const {
    std::set<StepIndex> all;
    for (const LedgerRow& row : rows) all.insert(row.step);
    return static_cast<int>(all.size());
}

std::vector<LedgerRow> LedgerView::of(RankId rank) const {
    std::vector<LedgerRow> own;
    for (const LedgerRow& row : rows)
        if (row.rank == rank) own.push_back(row);
    return own;
}

LedgerView ledgerOf(const SelectedPart& part) {
    LedgerView view;
    view.rows = part.report->ledger;
    std::set<RankId> ranks;
    for (const LedgerRow& row : view.rows) {
        ranks.insert(row.rank);
        if (!view.first || row.step < *view.first) view.first = row.step;
        if (!view.last || row.step > *view.last) view.last = row.step;
    }
    view.ranks.assign(ranks.begin(), ranks.end());
    return view;
}

analysis::LedgerParts meanParts(const std::vector<LedgerRow>& rows) {
    analysis::LedgerParts mean = sumOfParts(rows);
    if (rows.empty()) return mean;
    for (Duration& part : mean) part.ns /= static_cast<std::int64_t>(rows.size());
    return mean;
}

}  // namespace shardscope::desktop
