#include "app/desktop/models/step_split.h"

#include "app/desktop/models/format.h"

#include <array>
#include <cstdint>
#include <map>
#include <utility>

namespace shardscope::desktop {
namespace {

using analysis::at;
using analysis::LedgerPart;
using analysis::LedgerParts;

constexpr std::size_t kMostColumns = 1000;

struct Sum {
    LedgerParts parts{};
    std::int64_t rows = 0;

    void add(const LedgerParts& more, std::int64_t count) {
        for (std::size_t i = 0; i < parts.size(); ++i) parts[i] += more[i];
        rows += count;
    }
};

StackedBar barOf(const StepSpan& steps, const Sum& sum) {
    StackedBar bar{QString::number(steps.first.value), {}, {}};
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

StepSplit stepSplit(const std::vector<analysis::LedgerRow>& rows) {
    std::map<StepIndex, Sum> bySteps;
    LedgerParts all{};
    for (const analysis::LedgerRow& row : rows) {
        bySteps[row.step].add(row.parts, 1);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] += row.parts[i];
    }
    const std::size_t each = (bySteps.size() + kMostColumns - 1) / kMostColumns;
    StepSplit split;
    for (auto step = bySteps.begin(); step != bySteps.end();) {
        StepSpan span{step->first, step->first};
        Sum sum;
        for (std::size_t i = 0; i < each && step != bySteps.end(); ++i, ++step) {
            span.last = step->first;
            sum.add(step->second.parts, step->second.rows);
        }
        split.columns.push_back(barOf(span, sum));
        split.steps.push_back(span);
    }
    for (const LedgerPart part : kAll<LedgerPart>)
        if (all[at(part)].ns > 0)
            split.legend.push_back({QString::fromLatin1(toWord(part)), meaningOf(part), false});
    return split;
}

}  // namespace shardscope::desktop
