#include "app/desktop/models/step_split.h"

#include "app/desktop/models/format.h"

#include <cstddef>
#include <map>

namespace shardscope::desktop {
namespace {

using analysis::at;
using analysis::LedgerPart;
using analysis::LedgerParts;

constexpr std::size_t kMostColumns = 1000;

void add(const LedgerParts& more, LedgerParts& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] += more[i];
}

StackedBar barOf(const StepSums::Column& sum) {
    StackedBar bar{QString::number(sum.steps.first.value), {}, {}};
    Duration whole;
    for (const LedgerPart part : kAll<LedgerPart>) {
        const Duration mean{sum.parts[at(part)].ns / sum.rows};
        whole += mean;
        if (mean.ns > 0)
            bar.segments.push_back({mean.milliseconds(), meaningOf(part),
                                    QString::fromLatin1(toWord(part)), formatDuration(mean)});
    }
    bar.total = formatDuration(whole);
    return bar;
}

}  // namespace

StepSums sumSteps(const std::vector<analysis::LedgerRow>& rows, std::optional<RankId> rank) {
    StepSums sums;
    std::map<StepIndex, StepSums::Column> bySteps;
    for (const analysis::LedgerRow& row : rows) {
        if (rank && row.rank != *rank) continue;
        StepSums::Column& column = bySteps[row.step];
        add(row.parts, column.parts);
        add(row.parts, sums.all);
        ++column.rows;
    }
    const std::size_t each = (bySteps.size() + kMostColumns - 1) / kMostColumns;
    for (auto step = bySteps.begin(); step != bySteps.end();) {
        StepSums::Column& column = sums.columns.emplace_back();
        column.steps.first = step->first;
        for (std::size_t i = 0; i < each && step != bySteps.end(); ++i, ++step) {
            column.steps.last = step->first;
            add(step->second.parts, column.parts);
            column.rows += step->second.rows;
        }
    }
    return sums;
}

StepSplit stepSplit(const StepSums& sums) {
    StepSplit split;
    for (const StepSums::Column& column : sums.columns) {
        split.columns.push_back(barOf(column));
        split.steps.push_back(column.steps);
    }
    for (const LedgerPart part : kAll<LedgerPart>)
        if (sums.all[at(part)].ns > 0)
            split.legend.push_back({QString::fromLatin1(toWord(part)), meaningOf(part), false});
    return split;
}

}  // namespace shardscope::desktop
