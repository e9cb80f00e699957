#include "app/desktop/models/overview_model.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::kLedgerPartCount;
using analysis::LedgerPart;
using analysis::LedgerRow;

constexpr std::array<LedgerPart, kLedgerPartCount> kParts{
    LedgerPart::kCompute,       LedgerPart::kOptimizer,
    LedgerPart::kExposedGather, LedgerPart::kExposedReduction,
    LedgerPart::kExposedOther,  LedgerPart::kWaiting,
    LedgerPart::kData,          LedgerPart::kEvaluation,
    LedgerPart::kOther};

constexpr double kMfuTarget = 0.40;
constexpr double kExposedTarget = 0.20;

std::size_t at(LedgerPart part) {
    return static_cast<std::size_t>(part);
}

double share(Duration part, Duration whole) {
    return whole.ns > 0 ? static_cast<double>(part.ns) / static_cast<double>(whole.ns) : 0;
}

Duration medianOf(std::vector<Duration> values) {
    if (values.empty()) return {};
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

Duration exposed(const std::array<Duration, kLedgerPartCount>& parts) {
    return parts[at(LedgerPart::kExposedGather)] + parts[at(LedgerPart::kExposedReduction)] +
           parts[at(LedgerPart::kExposedOther)] + parts[at(LedgerPart::kWaiting)];
}

QString targetText(double fraction) {
    return ValueText{formatNumber(fraction * 100, 2), u"%"_s}.joined();
}

QString stepsText(const LedgerView& ledger) {
    if (!ledger.first) return u"no step"_s;
    if (ledger.first == ledger.last) return u"step %1"_s.arg(ledger.first->value);
    return u"steps %1–%2"_s.arg(ledger.first->value).arg(ledger.last->value);
}

QString ranksText(std::size_t ranks) {
    return ranks == 1 ? u"1 rank"_s : u"%1 ranks"_s.arg(ranks);
}

/// One value a step: mean over ranks of value(row).
template <class Value>
QVector<QPointF> trendOf(const LedgerView& ledger, Value value) {
    QVector<QPointF> points;
    int ranks = 0;
    for (const LedgerRow& row : ledger.rows) {
        const double x = row.step.value;
        if (points.isEmpty() || points.back().x() != x) {
            points.push_back({x, 0});
            ranks = 0;
        }
        points.back().setY((points.back().y() * ranks + value(row)) / (ranks + 1));
        ++ranks;
    }
    return points;
}

QVector<QPointF> metricTrend(const OpenRecording& recording, const std::string& name,
                             const LedgerView& ledger) {
    QVector<QPointF> points;
    for (const MetricPoint& point : recording.summary.metrics) {
        if (point.name != name) continue;
        if (ledger.first && (point.step < *ledger.first || point.step > *ledger.last)) continue;
        points.push_back({static_cast<double>(point.step.value), point.value});
    }
    return points;
}

/// Time of [begin, end) that compute phases cover; `phases` by start, not overlapping.
Duration coveredByCompute(const std::vector<SpanEvent>& phases, TimeRange range) {
    auto phase =
        std::lower_bound(phases.begin(), phases.end(), range.begin,
                         [](const SpanEvent& span, Timestamp t) { return span.end() <= t; });
    Duration covered;
    for (; phase != phases.end() && phase->start < range.end; ++phase) {
        const Meaning meaning = meaningOf(phase->phase);
        if (meaning == Meaning::kCompute || meaning == Meaning::kOptimizer) {
            covered += phase->range().intersection(range).duration();
        }
    }
    return covered;
}

/// Hidden share of communication, one value a step.
QVector<QPointF> overlapTrend(const OpenRecording& recording, const LedgerView& ledger) {
    std::map<StepIndex, std::pair<Duration, Duration>> hiddenAndAll;
    for (const RankEvents& events : recording.ranks) {
        for (const CollectiveEvent& event : events.collectives) {
            if (event.step == kNoStep ||
                (ledger.first && (event.step < *ledger.first || event.step > *ledger.last))) {
                continue;
            }
            auto& [hidden, all] = hiddenAndAll[event.step];
            hidden += coveredByCompute(events.phases, {event.start, event.end});
            all += event.end - event.start;
        }
    }
    QVector<QPointF> points;
    for (const auto& [step, parts] : hiddenAndAll) {
        points.push_back({static_cast<double>(step.value), share(parts.first, parts.second)});
    }
    return points;
}

CardContent throughputCard(const OpenRecording& recording, const LedgerView& ledger) {
    CardContent card;
    card.title = u"Throughput"_s;
    card.trend = metricTrend(recording, "tokens_per_s", ledger);
    const auto& report = recording.report;
    if (report.tokensPerSecond) {
        card.value = {formatNumber(*report.tokensPerSecond), u"tok/s"_s};
    } else {
        card.value = {unknownText(), {}};
    }
    card.detail =
        u"%1, median of %2"_s.arg(ranksText(recording.summary.ranks.size()))
            .arg(u"%1 steps"_s.arg(trendOf(ledger, [](const LedgerRow&) { return 0.0; }).size()));
    card.definition =
        u"Tokens of one step over all ranks, divided by the median step time.\n"
        u"Warm-up steps left out: %1.\nSource: steps of the recording."_s.arg(
            report.warmupStepsLeftOut);
    return card;
}

CardContent mfuCard(const OpenRecording& recording, const LedgerView& ledger) {
    const auto& mfu = recording.report.mfu;
    CardContent card;
    card.title = u"Model FLOP utilisation"_s;
    card.definition =
        u"Model FLOPs a second divided by the peak of all ranks.\nVariant %1: 6N + 12·L·C·T FLOPs "
        u"a token.\nPeak: %2"_s.arg(fromUtf8(mfu.variant), fromUtf8(mfu.peakSource));
    card.trend = metricTrend(recording, "tokens_per_s", ledger);
    if (!mfu.value) {
        card.value = {unknownText(), {}};
        card.detail = fromUtf8(mfu.reason);
        card.trend.clear();
        return card;
    }
    card.value = {formatNumber(*mfu.value * 100), u"%"_s};
    card.detail = u"of %1 GFLOP/s, %2"_s.arg(formatNumber(mfu.peakFlops.value_or(0) * 1e-9),
                                             mfu.peakSource.find("measured") != std::string::npos
                                                 ? u"measured peak"_s
                                                 : u"peak of the device"_s);
    card.verdictGood = *mfu.value >= kMfuTarget;
    card.verdict = (card.verdictGood ? u"PASS ≥ %1"_s : u"FAIL < %1"_s).arg(targetText(kMfuTarget));
    return card;
}

CardContent overlapCard(const OpenRecording& recording, const LedgerView& ledger) {
    const auto& overlap = recording.report.overlap;
    CardContent card;
    card.title = u"Overlap"_s;
    card.definition =
        u"Communication time covered by compute of the same rank, divided by all communication "
        u"time. Union of intervals, summed over ranks.\nSource: collectives and phases."_s;
    if (const auto ratio = overlap.ratio()) {
        card.value = {formatNumber(*ratio), {}};
        card.qualifier = u"of 1"_s;
        card.detail = u"%1 of %2 hidden"_s.arg(formatDuration(overlap.hidden),
                                               formatDuration(overlap.communication));
        card.trend = overlapTrend(recording, ledger);
    } else {
        card.value = {unknownText(), {}};
        card.detail = u"this run communicates nothing"_s;
    }
    return card;
}

CardContent exposedCard(const LedgerView& ledger) {
    CardContent card;
    card.title = u"Exposed communication"_s;
    card.definition =
        u"Time the step thread is blocked in a collective, waiting for peers included, divided "
        u"by step time.\nSource: phases of the compute lane."_s;
    const Duration blocked = exposed(ledger.total());
    const Duration wall = ledger.totalWall();
    if (wall.ns == 0) {
        card.value = {unknownText(), {}};
        card.detail = u"no whole step was recorded"_s;
        return card;
    }
    const double fraction = share(blocked, wall);
    const auto rows = static_cast<std::int64_t>(ledger.rows.size());
    card.value = {formatNumber(fraction * 100), u"%"_s};
    card.detail = u"%1 of %2 a step"_s.arg(formatDuration({blocked.ns / rows}),
                                           formatDuration({wall.ns / rows}));
    card.trend =
        trendOf(ledger, [](const LedgerRow& row) { return share(exposed(row.parts), row.wall); });
    card.verdictGood = fraction <= kExposedTarget;
    card.verdict =
        (card.verdictGood ? u"PASS ≤ %1"_s : u"FAIL > %1"_s).arg(targetText(kExposedTarget));
    return card;
}

CardContent memoryCard(const OpenRecording& recording) {
    CardContent card;
    card.title = u"Peak memory"_s;
    card.definition =
        u"Most bytes alive at once on the rank that needs most: every allocation the engine and "
        u"its tensors made.\nTheory: what the configuration implies.\nSource: memory events. "
        u"Trend: resident set at the end of each step."_s;
    const analysis::RankMemory* worst = nullptr;
    for (const auto& memory : recording.report.memory) {
        if (memory.known && (worst == nullptr || memory.peak > worst->peak)) worst = &memory;
    }
    if (worst == nullptr) {
        card.value = {unknownText(), {}};
        card.detail = u"not captured at this level"_s;
        return card;
    }
    card.value = bytesText(worst->peak);
    card.qualifier = u"on rank %1"_s.arg(worst->rank.value);
    if (worst->theory.count > 0) {
        card.detail =
            u"%1 × theory (%2)"_s.arg(formatNumber(static_cast<double>(worst->peak.count) /
                                                   static_cast<double>(worst->theory.count)),
                                      formatBytes(worst->theory));
    } else {
        card.detail = u"no theory in the recording"_s;
    }
    QVector<QPointF> resident;
    for (const StepFacts& step : recording.summary.steps) {
        if (step.rank == worst->rank && step.residentSet.count > 0) {
            resident.push_back(
                {static_cast<double>(step.step.value), step.residentSet.mebibytes()});
        }
    }
    card.trend = resident;
    return card;
}

CardContent lossCard(const OpenRecording& recording, const LedgerView& ledger) {
    const auto& report = recording.report;
    CardContent card;
    card.title = u"Loss"_s;
    card.definition =
        u"Mean cross entropy over all tokens of a step and all ranks, in nats.\nSource: metrics."_s;
    card.trend = metricTrend(recording, "loss", ledger);
    if (!report.lossLast) {
        card.value = {unknownText(), {}};
        card.detail = u"no step reported one"_s;
        return card;
    }
    card.value = {formatNumber(*report.lossLast), u"nats"_s};
    card.detail = u"from %1"_s.arg(formatNumber(report.lossFirst.value_or(*report.lossLast)));
    if (report.validationLossLast) {
        card.detail += u", validation %1"_s.arg(formatNumber(*report.validationLossLast));
    }
    return card;
}

StackedBar barOf(const QString& label, const std::array<Duration, kLedgerPartCount>& parts) {
    StackedBar bar;
    bar.label = label;
    Duration sum;
    for (LedgerPart part : kParts) {
        const Duration value = parts[at(part)];
        sum += value;
        if (value.ns == 0) continue;
        bar.segments.push_back({value.milliseconds(), meaningOf(part),
                                QString::fromLatin1(analysis::toWord(part)),
                                formatDuration(value)});
    }
    bar.total = formatDuration(sum);
    return bar;
}

bool usesPart(const LedgerView& ledger, LedgerPart part) {
    return ledger.total()[at(part)].ns > 0;
}

}  // namespace

std::array<Duration, kLedgerPartCount> LedgerView::median(RankId rank) const {
    std::array<Duration, kLedgerPartCount> result{};
    for (LedgerPart part : kParts) {
        std::vector<Duration> values;
        for (const LedgerRow& row : rows) {
            if (row.rank == rank) values.push_back(row.parts[at(part)]);
        }
        result[at(part)] = medianOf(std::move(values));
    }
    return result;
}

Duration LedgerView::medianWall(RankId rank) const {
    std::vector<Duration> values;
    for (const LedgerRow& row : rows) {
        if (row.rank == rank) values.push_back(row.wall);
    }
    return medianOf(std::move(values));
}

std::array<Duration, kLedgerPartCount> LedgerView::total() const {
    std::array<Duration, kLedgerPartCount> sum{};
    for (const LedgerRow& row : rows) {
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += row.parts[i];
    }
    return sum;
}

Duration LedgerView::totalWall() const {
    Duration sum;
    for (const LedgerRow& row : rows) sum += row.wall;
    return sum;
}

LedgerView selectLedger(const OpenRecording& recording, const Selection& selection) {
    LedgerView view;
    std::optional<OpenRecording::StepSpan> steps;
    if (selection.range) steps = recording.stepsIn(*selection.range);
    std::set<RankId> ranks;
    for (const LedgerRow& row : recording.report.ledger) {
        if (!selection.includes(row.rank)) continue;
        if (selection.range && (!steps || row.step < steps->first || row.step > steps->last))
            continue;
        view.rows.push_back(row);
        ranks.insert(row.rank);
        if (!view.first || row.step < *view.first) view.first = row.step;
        if (!view.last || row.step > *view.last) view.last = row.step;
    }
    view.ranks.assign(ranks.begin(), ranks.end());
    return view;
}

QString overviewHeadline(const OpenRecording& recording, const LedgerView& ledger) {
    if (ledger.rows.empty()) {
        return recording.summary.steps.empty()
                   ? u"No step was finished; %1 events were recorded before the run ended."_s.arg(
                         formatCount(static_cast<std::int64_t>(recording.report.events)))
                   : u"No whole step lies in the selection."_s;
    }
    const auto total = ledger.total();
    const Duration wall = ledger.totalWall();
    const auto rows = static_cast<std::int64_t>(ledger.rows.size());
    const Duration blocked = exposed(total);
    return u"%1 of step time is compute; %2 is exposed communication (%3 of %4 a step, %5, %6)."_s
        .arg(formatPercent(share(total[at(LedgerPart::kCompute)], wall)),
             formatPercent(share(blocked, wall)), formatDuration({blocked.ns / rows}),
             formatDuration({wall.ns / rows}), ranksText(ledger.ranks.size()), stepsText(ledger));
}

QString overviewSubline(const OpenRecording& recording) {
    const auto& report = recording.report;
    QStringList parts;
    if (!report.waiting.empty() && report.waiting.front().waited.ns > 0) {
        const auto& worst = report.waiting.front();
        parts << u"The others waited %1 for rank %2 in %3 collectives."_s
                     .arg(formatDuration(worst.waited))
                     .arg(worst.late.value)
                     .arg(formatCount(worst.collectives));
    }
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

std::vector<CardContent> overviewCards(const OpenRecording& recording, const LedgerView& ledger) {
    return {throughputCard(recording, ledger),
            mfuCard(recording, ledger),
            overlapCard(recording, ledger),
            exposedCard(ledger),
            memoryCard(recording),
            lossCard(recording, ledger)};
}

std::vector<StackedBar> ledgerBars(const LedgerView& ledger) {
    std::vector<StackedBar> bars;
    for (RankId rank : ledger.ranks) {
        bars.push_back(barOf(u"rank %1"_s.arg(rank.value), ledger.median(rank)));
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
    for (LedgerPart part : kParts) {
        if (usesPart(ledger, part)) {
            entries.push_back(
                {QString::fromLatin1(analysis::toWord(part)), meaningOf(part), false});
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
    const auto total = ledger.total();
    const Duration wall = ledger.totalWall();
    for (LedgerPart part : kParts) {
        if (total[at(part)].ns == 0) continue;
        std::vector<TableCell> row{
            {QString::fromLatin1(analysis::toWord(part)), {}, 0, meaningOf(part)}};
        for (RankId rank : ledger.ranks) {
            const Duration value = ledger.median(rank)[at(part)];
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
