#include "app/desktop/models/ledger_heat.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::at;
using analysis::LedgerPart;
using analysis::LedgerRow;

Duration timeOf(const LedgerRow& row, const HeatChoice& choice) {
    return choice.part ? row.parts[at(*choice.part)] : analysis::blockedIn(row.parts);
}

/// The scale ends at a share that reads well: 1, 2, 5 x 10^n.
float niceMaximum(float highest) {
    if (highest <= 0) return 1;
    const float power = std::pow(10.0F, std::floor(std::log10(highest)));
    for (const float step : {1.0F, 2.0F, 5.0F, 10.0F})
        if (highest <= step * power * 1.0001F) return std::min(1.0F, step * power);
    return 1;
}

}  // namespace

std::vector<HeatChoice> heatChoices(const LedgerView& ledger) {
    std::vector<HeatChoice> choices{{u"blocked in communication"_s, std::nullopt}};
    for (LedgerPart part : kAll<LedgerPart>)
        if (ledger.all.parts[at(part)].ns > 0)
            choices.push_back({QString::fromLatin1(toWord(part)), part});
    return choices;
}

LedgerHeat ledgerAxes(const std::vector<LedgerRow>& rows, const HeatChoice& choice,
                      HeatOrder order) {
    LedgerHeat axes;
    std::set<StepIndex> steps;
    std::map<RankId, std::pair<Duration, Duration>> sums;  // the part, all of it
    for (const LedgerRow& row : rows) {
        steps.insert(row.step);
        auto& [part, whole] = sums[row.rank];
        part += timeOf(row, choice);
        whole += row.wall;
    }
    axes.steps.assign(steps.begin(), steps.end());
    for (const auto& [rank, sum] : sums) axes.ranks.push_back(rank);
    if (order == HeatOrder::kHighestFirst)
        std::stable_sort(axes.ranks.begin(), axes.ranks.end(), [&](RankId a, RankId b) {
            return share(sums[a].first, sums[a].second) > share(sums[b].first, sums[b].second);
        });
    return axes;
}

HeatData ledgerHeat(const std::vector<LedgerRow>& ledger, const HeatChoice& choice,
                    const LedgerHeat& axes) {
    HeatData map;
    std::map<RankId, std::size_t> rows;
    std::map<StepIndex, std::size_t> columns;
    for (RankId rank : axes.ranks) {
        rows.emplace(rank, rows.size());
        map.rows.push_back(u"rank %1"_s.arg(rank.value));
    }
    for (StepIndex step : axes.steps) {
        columns.emplace(step, columns.size());
        map.columns.push_back(QString::number(step.value));
    }
    map.values.assign(rows.size() * columns.size(), -1.0F);
    float highest = 0;
    for (const LedgerRow& row : ledger) {
        const auto value = static_cast<float>(share(timeOf(row, choice), row.wall));
        map.values[rows[row.rank] * columns.size() + columns[row.step]] = value;
        highest = std::max(highest, value);
    }
    map.maximum = niceMaximum(highest);
    return map;
}

}  // namespace shardscope::desktop
