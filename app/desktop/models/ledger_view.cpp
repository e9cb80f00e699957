#include "app/desktop/models/ledger_view.h"

#include "app/desktop/models/format.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

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

using namespace Qt::StringLiterals;
using analysis::at;
using analysis::LedgerPart;

StackedBar barOf(const QString& label, const analysis::LedgerParts& parts) {
    StackedBar bar;
    bar.label = label;
    Duration sum;
    for (LedgerPart part : kAll<LedgerPart>) {
        const Duration value = parts[at(part)];
        sum += value;
        if (value.ns == 0) continue;
        bar.segments.push_back({value.milliseconds(), meaningOf(part),
                                QString::fromLatin1(toWord(part)), formatDuration(value)});
    }
    bar.total = formatDuration(sum);
    return bar;
}

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

LedgerView ledgerView(const std::vector<LedgerRow>& rows, const std::vector<StepFacts>& steps) {
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
    view.steps = sumSteps(rows, steps);
    if (view.ranks.size() <= kMostRankBars)
        for (const RankId rank : view.ranks) view.byRanks.push_back(sumSteps(rows, steps, rank));
    return view;
}

std::vector<StackedBar> ledgerBars(const LedgerView& ledger) {
    std::vector<StackedBar> bars;
    for (std::size_t i = 0; i < ledger.ranks.size(); ++i)
        bars.push_back(barOf(u"rank %1"_s.arg(ledger.ranks[i].value), ledger.ofRanks[i].mean()));
    return bars;
}

StackedBar meanBar(const LedgerView& ledger) {
    return barOf(formatCounted(std::ssize(ledger.ranks), "rank"), ledger.all.mean());
}

std::vector<LegendEntry> ledgerLegend(const LedgerView& ledger) {
    std::vector<LegendEntry> entries;
    const auto& total = ledger.all.parts;
    for (LedgerPart part : kAll<LedgerPart>) {
        if (total[at(part)].ns > 0) {
            entries.push_back({QString::fromLatin1(toWord(part)), meaningOf(part), false});
        }
    }
    return entries;
}

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
