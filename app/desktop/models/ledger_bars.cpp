#include "app/desktop/models/ledger_bars.h"

#include "app/desktop/models/format.h"

namespace shardscope::desktop {
namespace {

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

}  // namespace

std::vector<StackedBar> ledgerBars(const LedgerView& ledger) {
    std::vector<StackedBar> bars;
    for (std::size_t i = 0; i < ledger.ranks.size(); ++i)
        bars.push_back(barOf(u"rank %1"_s.arg(ledger.ranks[i].value), ledger.ofRanks[i].mean()));
    return bars;
}

StackedBar meanBar(const LedgerView& ledger) {
    return barOf(u"%1 ranks"_s.arg(ledger.ranks.size()), ledger.all.mean());
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

}  // namespace shardscope::desktop
