#include "app/desktop/pages/overview/overview_model.h"

#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::at;
using analysis::blockedIn;
using analysis::LedgerPart;
using analysis::LedgerRow;

QString stepsText(const LedgerView& ledger) {
    if (!ledger.first) return u"no step"_s;
    if (ledger.first == ledger.last) return u"step %1"_s.arg(ledger.first->value);
    return u"steps %1–%2"_s.arg(ledger.first->value).arg(ledger.last->value);
}

QString ranksText(std::size_t ranks) {
    return ranks == 1 ? u"1 rank"_s : u"%1 ranks"_s.arg(ranks);
}

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

QString overviewHeadline(const OpenRecording& recording, const LedgerView& ledger) {
    if (ledger.rows.empty() && recording.isImported())
        return u"An imported trace of %1 events: it does not say what its steps are made of."_s.arg(
            formatCount(static_cast<std::int64_t>(recording.report.events)));
    if (ledger.rows.empty()) {
        return recording.summary.steps.empty()
                   ? u"No step was finished; %1 events were recorded before the run ended."_s.arg(
                         formatCount(static_cast<std::int64_t>(recording.report.events)))
                   : u"No whole step lies in the selection."_s;
    }
    const auto total = sumOfParts(ledger.rows);
    const Duration wall = sumOfWalls(ledger.rows);
    const auto rows = static_cast<std::int64_t>(ledger.rows.size());
    const Duration blocked = blockedIn(total);
    return u"%1 of step time is compute; %2 is blocked in communication (%3 of %4 per step, %5, %6)."_s
        .arg(formatPercent(share(total[at(LedgerPart::kCompute)], wall)),
             formatPercent(share(blocked, wall)), formatDuration({blocked.ns / rows}),
             formatDuration({wall.ns / rows}), ranksText(ledger.ranks.size()), stepsText(ledger));
}

QString overviewSubline(const OpenRecording& recording) {
    const auto& report = recording.report;
    QStringList parts;
    if (!report.findings.empty()) parts << fromUtf8(report.findings.front().title) + u'.';
    if (!report.completeness.known) {
        parts << u"Completeness unknown at this capture level."_s;
    } else {
        parts << (report.completeness.complete ? u"Recording complete."_s
                                               : u"Recording incomplete."_s);
    }
    parts << u"%1 of %2 events dropped."_s.arg(
        formatCount(static_cast<std::int64_t>(report.dropped)),
        formatCount(static_cast<std::int64_t>(report.events + report.dropped)));
    return parts.join(u' ');
}

std::vector<StackedBar> ledgerBars(const LedgerView& ledger) {
    std::vector<StackedBar> bars;
    for (RankId rank : ledger.ranks) {
        bars.push_back(barOf(u"rank %1"_s.arg(rank.value), medianParts(ledger.rows, rank)));
    }
    return bars;
}

std::vector<StackedBar> stepColumns(const LedgerView& ledger, RankId rank) {
    std::vector<StackedBar> bars;
    for (const LedgerRow& row : ledger.rows) {
        if (row.rank == rank) bars.push_back(barOf(QString::number(row.step.value), row.parts));
    }
    return bars;
}

std::vector<LegendEntry> ledgerLegend(const LedgerView& ledger) {
    std::vector<LegendEntry> entries;
    const auto total = sumOfParts(ledger.rows);
    for (LedgerPart part : kAll<LedgerPart>) {
        if (total[at(part)].ns > 0) {
            entries.push_back({QString::fromLatin1(toWord(part)), meaningOf(part), false});
        }
    }
    return entries;
}

std::vector<TableColumn> partsColumns(const LedgerView& ledger) {
    std::vector<TableColumn> columns{{u"part"_s, {}, false, false, false, 192}};
    for (RankId rank : ledger.ranks) {
        columns.push_back({u"rank %1"_s.arg(rank.value), u"median of %1"_s.arg(stepsText(ledger)),
                           true, false, false, 88});
    }
    columns.push_back({u"share"_s, u"of all step time in the selection"_s, true, false, false, 80});
    columns.push_back({u"definition"_s, {}, false, false, true, 240});
    return columns;
}

std::vector<std::vector<TableCell>> partsRows(const LedgerView& ledger) {
    std::vector<std::vector<TableCell>> rows;
    const auto total = sumOfParts(ledger.rows);
    const Duration wall = sumOfWalls(ledger.rows);
    for (LedgerPart part : kAll<LedgerPart>) {
        if (total[at(part)].ns == 0) continue;
        std::vector<TableCell> row{{QString::fromLatin1(toWord(part)), {}, 0, meaningOf(part)}};
        for (RankId rank : ledger.ranks) {
            const Duration value = medianParts(ledger.rows, rank)[at(part)];
            row.push_back({formatDuration(value), u"%1 ns"_s.arg(formatCount(value.ns)),
                           static_cast<double>(value.ns), Meaning::kNone});
        }
        const double fraction = share(total[at(part)], wall);
        row.push_back({formatPercent(fraction),
                       u"%1 of %2"_s.arg(formatDuration(total[at(part)]), formatDuration(wall)),
                       fraction, Meaning::kNone});
        row.push_back({QString::fromLatin1(analysis::definition(part)), {}, 0, Meaning::kNone});
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace shardscope::desktop
