#include "app/desktop/models/ledger_view.h"

#include <map>

namespace shardscope::desktop {
namespace {

using analysis::LedgerRow;

/// Means over the ranks of a step.
struct StepMeans {
    double blocked = 0, wall = 0;
    int ranks = 0;
};

QPointF meanAt(StepIndex step, double sum, int ranks) {
    return {static_cast<double>(step.value), sum / ranks};
}

}  // namespace

double share(Duration part, Duration whole) {
    return whole.ns > 0 ? static_cast<double>(part.ns) / static_cast<double>(whole.ns) : 0;
}

void LedgerSum::add(const LedgerRow& row) {
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] += row.parts[i];
    wall += row.wall;
    ++rows;
}

analysis::LedgerParts LedgerSum::mean() const {
    analysis::LedgerParts mean = parts;
    for (Duration& part : mean)
        if (rows > 0) part.ns /= rows;
    return mean;
}

LedgerView ledgerView(const std::vector<LedgerRow>& rows) {
    LedgerView view;
    std::map<RankId, LedgerSum> sums;
    std::map<StepIndex, StepMeans> means;
    for (const LedgerRow& row : rows) {
        view.all.add(row);
        sums[row.rank].add(row);
        StepMeans& step = means[row.step];
        step.blocked += share(analysis::blockedIn(row.parts), row.wall);
        step.wall += row.wall.milliseconds();
        ++step.ranks;
    }
    for (const auto& [rank, sum] : sums) {
        view.ranks.push_back(rank);
        view.ofRanks.push_back(sum);
    }
    if (!means.empty()) view.first = means.begin()->first;
    if (!means.empty()) view.last = means.rbegin()->first;
    for (const auto& [step, mean] : means) {
        view.blockedShares.push_back(meanAt(step, mean.blocked, mean.ranks));
        view.stepTimes.push_back(meanAt(step, mean.wall, mean.ranks));
    }
    view.steps = sumSteps(rows);
    if (view.ranks.size() <= kMostRankBars)
        for (const RankId rank : view.ranks) view.byRanks.push_back(sumSteps(rows, rank));
    return view;
}

}  // namespace shardscope::desktop
