// The six cards of the Overview.
#include "app/desktop/pages/overview/overview_model.h"

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::blockedIn;
using analysis::LedgerRow;

constexpr double kMfuTarget = 0.40;
constexpr double kExposedTarget = 0.20;

QString targetText(double fraction) {
    return ValueText{formatNumber(fraction * 100, 2), u"%"_s}.joined();
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

bool isSelected(const LedgerView& ledger, StepIndex step) {
    return !ledger.first || (step >= *ledger.first && step <= *ledger.last);
}

QVector<QPointF> metricTrend(const OpenRecording& recording, const std::string& name,
                             const LedgerView& ledger) {
    QVector<QPointF> points;
    for (const MetricPoint& point : recording.summary.metrics) {
        if (point.name != name) continue;
        if (!isSelected(ledger, point.step)) continue;
        points.push_back({static_cast<double>(point.step.value), point.value});
    }
    return points;
}

/// Hidden share of communication, one value a step.
QVector<QPointF> overlapTrend(const OpenRecording& recording, const LedgerView& ledger) {
    QVector<QPointF> points;
    for (const analysis::StepOverlap& step : recording.report.overlapByStep)
        if (isSelected(ledger, step.step))
            points.push_back(
                {static_cast<double>(step.step.value), share(step.hidden, step.communication)});
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
    card.detail = u"%1, median of %2"_s.arg(ranksText(recording.summary.ranks.size()))
                      .arg(u"%1 steps"_s.arg(
                          static_cast<std::int64_t>(
                              trendOf(ledger, [](const LedgerRow&) { return 0.0; }).size()) -
                          report.warmupStepsLeftOut));
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
    card.briefTitle = u"MFU"_s;
    card.definition =
        u"Model FLOPs per second divided by the peak of all ranks.\nVariant %1: 6N + 12·L·C·T "
        u"FLOPs "
        u"per token.\nPeak: %2"_s.arg(fromUtf8(mfu.variant), fromUtf8(mfu.peakSource));
    card.trend = metricTrend(recording, "tokens_per_s", ledger);
    const bool gpu = !recording.summary.devices.empty();
    if (const auto use = recording.report.measuredPeakUse) {
        card.qualifier = u"· %1 of measured"_s.arg(formatPercent(*use));
        card.definition +=
            u"\nOf measured: the same, divided by what matrix products of the run's "
            u"own shapes reached.\nMeasured: %1"_s.arg(
                fromUtf8(recording.summary.devices.front().measuredPeakSource));
    }
    if (!mfu.value) {
        card.value = {gpu ? u"n/a"_s : unknownText(), {}};
        card.detail = fromUtf8(mfu.reason);
        card.trend.clear();
        return card;
    }
    card.value = {formatNumber(*mfu.value * 100), u"%"_s};
    const bool measured = mfu.peakSource.find("measured") != std::string::npos;
    card.detail = u"of %1, %2"_s.arg(
        formatSi(mfu.peakFlops.value_or(0), u"FLOP/s"_s),
        measured ? u"measured peak"_s : (gpu ? u"data sheet"_s : u"peak of the device"_s));
    card.verdictGood = *mfu.value >= kMfuTarget;
    card.verdict = (card.verdictGood ? u"PASS ≥ %1"_s : u"FAIL < %1"_s).arg(targetText(kMfuTarget));
    if (mfu.unsure) {
        card.verdict = u"UNSURE"_s;
        card.verdictGood = false;
    }
    return card;
}

CardContent overlapCard(const OpenRecording& recording, const LedgerView& ledger) {
    const auto& overlap = recording.report.overlap;
    CardContent card;
    card.title = u"Overlap"_s;
    card.definition =
        u"Communication time covered by compute of the same rank, divided by all communication "
        u"time. Union of intervals, summed over ranks. Behind \"of\": what the same schedule would "
        u"hide if neither compute nor link ever paused.\nSource: collectives and phases."_s;
    if (const auto ratio = overlap.ratio()) {
        card.value = {formatNumber(*ratio), {}};
        const auto limit = overlap.limit();
        card.qualifier = limit ? u"of %1"_s.arg(formatNumber(*limit)) : QString();
        card.detail = u"%1 of %2 hidden"_s.arg(formatDuration(overlap.hidden),
                                               formatDuration(overlap.communication));
        card.trend = overlapTrend(recording, ledger);
    } else {
        card.value = {unknownText(), {}};
        card.detail = u"this run has no communication"_s;
    }
    return card;
}

CardContent blockedCard(const LedgerView& ledger) {
    CardContent card;
    card.title = u"Blocked in communication"_s;
    card.briefTitle = u"Blocked"_s;
    card.definition =
        u"Time the step thread is blocked in a collective, waiting for peers included, divided "
        u"by step time.\nSource: phases of the compute lane."_s;
    const Duration blocked = blockedIn(sumOfParts(ledger.rows));
    const Duration wall = sumOfWalls(ledger.rows);
    if (wall.ns == 0) {
        card.value = {unknownText(), {}};
        card.detail = u"no whole step was recorded"_s;
        return card;
    }
    const double fraction = share(blocked, wall);
    const auto rows = static_cast<std::int64_t>(ledger.rows.size());
    card.value = {formatNumber(fraction * 100), u"%"_s};
    card.detail = u"%1 of %2 per step"_s.arg(formatDuration({blocked.ns / rows}),
                                             formatDuration({wall.ns / rows}));
    card.trend =
        trendOf(ledger, [](const LedgerRow& row) { return share(blockedIn(row.parts), row.wall); });
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
    const analysis::RankMemory* worst = recording.report.worstMemory();
    if (worst == nullptr) {
        card.value = {unknownText(), {}};
        card.detail = u"not captured at this level"_s;
        return card;
    }
    card.value = bytesText(worst->peak);
    card.qualifier = u"on rank %1"_s.arg(worst->rank.value);
    if (worst->theory.count > 0) {
        card.detail =
            u"%1 × theory (%2)"_s.arg(formatNumber(static_cast<double>(worst->managed().count) /
                                                   static_cast<double>(worst->theory.count)),
                                      formatBytes(worst->theory));
        if (const Bytes outside = worst->peak - worst->managed(); outside.count > 0) {
            card.detail += u", without %1 outside the allocator"_s.arg(formatBytes(outside));
            card.definition +=
                u"\nTheory does not include memory outside the allocator (CUDA context, NCCL, "
                u"libraries): the peak does, the comparison with theory leaves it out."_s;
        }
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

}  // namespace

std::vector<CardContent> overviewCards(const OpenRecording& recording, const LedgerView& ledger) {
    return {throughputCard(recording, ledger),
            mfuCard(recording, ledger),
            overlapCard(recording, ledger),
            blockedCard(ledger),
            memoryCard(recording),
            lossCard(recording, ledger)};
}

}  // namespace shardscope::desktop
