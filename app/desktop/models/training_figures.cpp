#include "app/desktop/models/training_figures.h"

#include "app/desktop/models/curves.h"
#include "app/desktop/models/format.h"
#include "app/desktop/models/recording_texts.h"
#include "engine/run/theory/model_theory.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <array>
#include <memory>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

using CurvesPtr = std::shared_ptr<const StepCurves>;

/// Those of all ranks exist; those of a subset are made here unless they have been made.
CurvesPtr curvesOf(const OpenRecording& recording, const Selection& selection,
                   const StepCurves* made) {
    if (made != nullptr) return {CurvesPtr(), made};
    if (!selection.ranks.empty())
        return std::make_shared<const StepCurves>(stepCurves(recording.summary, selection.ranks));
    const StepFiguresPtr figures = figuresOf(recording);
    return {figures, &figures->curves};
}

std::optional<StepSpan> selectedSteps(const OpenRecording& recording, const Selection& selection) {
    return selection.cutsTime() ? recording.stepsOf(selection) : std::nullopt;
}

std::vector<double> valuesIn(const QVector<QPointF>& points, const OpenRecording& recording,
                             const Selection& selection) {
    const auto steps = selectedSteps(recording, selection);
    std::vector<double> values;
    for (const QPointF& point : points) {
        const StepIndex step{static_cast<std::int32_t>(point.x())};
        if (selection.cutsTime() && (!steps || !steps->contains(step))) continue;
        values.push_back(point.y());
    }
    return values;
}

/// Those that the report's median and throughput are of; all that are selected where it has none.
std::vector<double> steadyValues(const QVector<QPointF>& points, const analysis::Report& report,
                                 const OpenRecording& recording, const Selection& selection) {
    if (report.steady.empty()) return valuesIn(points, recording, selection);
    std::vector<double> values;
    for (const QPointF& point : points)
        if (std::binary_search(report.steady.begin(), report.steady.end(),
                               StepIndex{static_cast<std::int32_t>(point.x())}))
            values.push_back(point.y());
    return values;
}

void addCurve(MetricChart& chart, const QString& name, const QVector<QPointF>& points,
              Meaning meaning, const CurveLook& look) {
    if (look.smoothing > 0 && points.size() > 2) {
        chart.series.push_back({name, smoothed(points, look.smoothing), meaning});
        LineSeries raw{name, points, meaning};
        raw.pale = true;
        // behind: drawn before what was made of it
        chart.series.insert(chart.series.end() - 1, raw);
    } else {
        chart.series.push_back({name, points, meaning});
    }
}

void addOthers(MetricChart& chart, const CurveLook& look) {
    constexpr std::array kColours{Meaning::kCopy, Meaning::kOtherCollective, Meaning::kGather,
                                  Meaning::kCheckpoint, Meaning::kHost};
    if (look.others == nullptr) return;
    for (std::size_t i = 0; i < look.others->size(); ++i) {
        const ComparedRun& run = (*look.others)[i];
        const auto& points = run.curves.of(chart.key.toStdString());
        if (!points.isEmpty())
            addCurve(chart, run.name, points, kColours[i % kColours.size()], look);
    }
}

/// Steps that took much longer than the rest, or lie in a slow stretch, as dots on the step times.
LineSeries slowSteps(const analysis::Report& report, const QVector<QPointF>& times) {
    LineSeries slow{u"slow steps"_s, {}, Meaning::kReduction};
    slow.joined = false;
    std::vector<StepSpan> stretches;
    for (const analysis::RunFinding& finding : report.findings)
        if (finding.code == "slow-stretch" && finding.steps)
            stretches.push_back({finding.steps->first, finding.steps->second});
    for (const QPointF& time : times) {
        const StepIndex step{static_cast<std::int32_t>(time.x())};
        if (findSlow(report, step) != nullptr ||
            std::any_of(stretches.begin(), stretches.end(),
                        [step](const StepSpan& span) { return span.contains(step); }))
            slow.points.push_back(time);
    }
    return slow;
}

/// What is there for each rank, of the selected ones; the rest is of all.
bool isByRank(const QString& key) {
    return key == QLatin1StringView(kThroughputMetric) || key == u"step_time"_s;
}

/// Where ranks are selected, of which ranks a chart is.
QString ofRanks(const OpenRecording& recording, const Selection& selection, const QString& title,
                const QString& key) {
    if (selection.ranks.empty()) return title;
    if (!isByRank(key)) return u"%1, of all ranks"_s.arg(title);
    return u"%1, of %2 of %3 ranks"_s.arg(title)
        .arg(selection.ranks.size())
        .arg(recording.summary.run.worldSize);
}

QString stepsWord(const StepSpan& steps) {
    if (steps.first == steps.last) return u"Step %1"_s.arg(steps.first.value);
    return u"Steps %1–%2"_s.arg(steps.first.value).arg(steps.last.value);
}

TargetRow scalingRow(const OpenRecording& recording, const analysis::Report& report,
                     const Selection& selection, const Targets& targets,
                     const std::vector<ComparedRun>& others) {
    const auto baseline = std::find_if(others.begin(), others.end(),
                                       [](const ComparedRun& run) { return run.ranks == 1; });
    TargetRow row{u"Scaling"_s, {}, {}};
    if (recording.summary.run.worldSize <= 1) {
        row.value = u"one rank: there is nothing to scale"_s;
        return row;
    }
    if (baseline == others.end()) {
        row.value = u"unknown: no one-rank baseline (compare with one)"_s;
        return row;
    }
    std::vector<double> one;
    for (const QPointF& point : baseline->curves.of(kThroughputMetric)) one.push_back(point.y());
    const auto all = steadyValues(figuresOf(recording)->curves.of(kThroughputMetric), report,
                                  recording, selection);
    // of all ranks, whichever are selected
    if (one.empty() || all.empty()) {
        row.value = u"unknown: no throughput recorded"_s;
        return row;
    }
    const double scaling = quantileOf(all, 0.5) / recording.summary.run.worldSize /
                           std::max(quantileOf(one, 0.5), 1e-12);
    row.share = scaling;
    row.value = formatPercent(scaling);
    row.verdict = atLeast(scaling, targets.scaling);
    return row;
}

TargetRow communicationRow(const SelectedPart& part, const Targets& targets) {
    TargetRow row{u"Blocked in communication"_s, {}, {}};
    const LedgerSum& all = part.figures->ledger.all;
    const Duration blocked = analysis::blockedIn(all.parts), wall = all.wall;
    if (wall.ns <= 0) {
        row.value = part.summary->steps.empty()
                        ? u"no whole step is selected"_s
                        : absenceText(*part.recording, CaptureLevel::kLight, u"phases"_s);
        return row;
    }
    const double share = static_cast<double>(blocked.ns) / static_cast<double>(wall.ns);
    row.share = share;
    row.value = formatPercent(share);
    if (part.summary->run.worldSize > 1) row.verdict = atMost(share, targets.communication);
    return row;
}

}  // namespace

std::vector<MetricChart> metricCharts(const OpenRecording& recording, const Selection& selection,
                                      const CurveLook& look) {
    const CurvesPtr shared = curvesOf(recording, selection, look.curves);
    const StepCurves& curves = *shared;
    std::vector<MetricChart> charts{
        {u"loss"_s,
         u"Loss"_s,
         u"nats"_s,
         u"Mean cross entropy over all tokens of a step and all ranks; validation: the same on held-out data."_s,
         {}},
        {u"learning_rate"_s,
         u"Learning rate"_s,
         {},
         u"Learning rate that AdamW used in the step, after warm-up and schedule."_s,
         {}},
        {u"gradient_norm"_s,
         u"Gradient norm"_s,
         {},
         u"2-norm of all gradients over all ranks, before clipping."_s,
         {}},
        {QString::fromLatin1(kThroughputMetric),
         u"Throughput"_s,
         u"tok/s"_s,
         u"Tokens of the step over all ranks, or those selected, divided by its time, from the first one's beginning to the last one's end, validation passes included."_s,
         {}},
        {u"loss_scale"_s,
         u"Loss scale"_s,
         {},
         u"Factor on the loss that keeps gradients of float16 from vanishing; halved when they overflow."_s,
         {}},
    };
    for (MetricChart& chart : charts) {
        const auto& points = curves.of(chart.key.toStdString());
        if (!points.isEmpty())
            addCurve(chart, chart.key == u"loss"_s ? u"training"_s : chart.title.toLower(), points,
                     Meaning::kCompute, look);
        if (chart.key == u"loss"_s) {
            const auto& held = curves.of("validation_loss");
            if (!held.isEmpty())
                chart.series.push_back({u"validation"_s, held, Meaning::kReduction, true});
        }
        addOthers(chart, look);
    }
    if (charts.back().series.empty()) charts.pop_back();
    MetricChart times{
        u"step_time"_s,
        u"Step time"_s,
        u"ms"_s,
        u"From the first rank's beginning of a step to the last one's end, of all ranks or those selected, validation passes included. Dots: steps that took much longer than the rest, or lie in a slow stretch, of all ranks."_s,
        {}};
    const auto& points = curves.times;
    if (!points.isEmpty()) {
        addCurve(times, u"step time"_s, points, Meaning::kCompute, look);
        const LineSeries slow = slowSteps(recording.report, points);
        if (!slow.points.isEmpty()) times.series.push_back(slow);
    }
    charts.push_back(std::move(times));
    for (MetricChart& chart : charts)
        chart.title = ofRanks(recording, selection, chart.title, chart.key);
    return charts;
}

std::vector<Spread> spreads(const OpenRecording& recording, const analysis::Report& report,
                            const Selection& selection, const StepCurves* made) {
    const CurvesPtr shared = curvesOf(recording, selection, made);
    const StepCurves& curves = *shared;
    const auto spreadOf = [&](const QString& key, const QString& title, const QString& unit,
                              const QVector<QPointF>& points) {
        auto values = isByRank(key) ? steadyValues(points, report, recording, selection)
                                    : valuesIn(points, recording, selection);
        // what follows is of sorted values at little cost
        std::sort(values.begin(), values.end());
        Spread spread{ofRanks(recording, selection, title, key), unit, histogramOf(values), {}};
        if (spread.histogram) {
            for (const auto& [share, name] : {std::pair{0.5, u"median"_s}, {0.99, u"p99"_s}}) {
                const double at = quantileOf(values, share);
                spread.marks.push_back({at, u"%1 %2"_s.arg(name, formatNumber(at))});
            }
        }
        return spread;
    };
    return {spreadOf(u"loss"_s, u"Loss, distribution"_s, u"nats"_s, curves.of("loss")),
            spreadOf(u"step_time"_s, u"Step time, distribution"_s, u"ms"_s, curves.times),
            spreadOf(QString::fromLatin1(kThroughputMetric), u"Throughput, distribution"_s,
                     u"tok/s"_s, curves.of(kThroughputMetric))};
}

QString missingMetrics(const OpenRecording& recording) {
    if (!recording.summary.metrics.empty()) return {};
    if (recording.program())
        return u"The program reported no metric: its loss is unknown. shardscope.metric(\"loss\", "
               u"value) in the script reports it, and a learning rate and gradient norm alike."_s;
    if (recording.isTrace())
        return u"This is an imported trace: its format has no training metrics. Loss, learning rate and gradient norm are there in runs that Shardscope records."_s;
    return u"This run ended before a step reported its loss: no metric was recorded. Capture levels do not matter: all but off keep metrics."_s;
}

QString absentMetric(const OpenRecording& recording, const QString& key) {
    if (!recording.program()) return u"This run did not report it."_s;
    if (analysis::hasNoRank(recording.summary.run, recording.summary.processes))
        return u"unknown: "_s + lackText(recording, analysis::Lack::kLoss);
    if (key == u"step_time"_s) return u"unknown: "_s + lackText(recording, analysis::Lack::kSteps);
    return u"unknown: shardscope.metric(\"%1\", value) in the script records it"_s.arg(key);
}

bool isUnsure(const analysis::Report& report) {
    return report.dropped > 0 || report.cores.takenOfSteps() >= analysis::kManyTaken;
}

std::vector<TargetRow> targetRows(const SelectedPart& part, const Targets& targets,
                                  const std::vector<ComparedRun>& others) {
    TargetRow mfu{u"MFU"_s, {}, {}};
    if (const auto& value = part.report->mfu.value) {
        mfu.share = *value;
        mfu.value = formatPercent(*value);
        mfu.verdict = atLeast(*value, targets.mfu);
        mfu.unsure = part.report->mfu.unsure;
    } else {
        mfu.value = u"unknown: %1"_s.arg(fromUtf8(part.report->mfu.reason));
    }
    std::vector<TargetRow> rows{
        mfu, scalingRow(*part.recording, *part.report, part.selection, targets, others),
        communicationRow(part, targets)};
    for (TargetRow& row : rows) row.unsure = row.unsure || isUnsure(*part.report);
    return rows;
}

QVector<QPointF> mfuCurve(const SelectedPart& part) {
    const auto& report = *part.report;
    QVector<QPointF> counted;
    for (const analysis::Mfu::OfStep& each : report.mfu.steps)
        counted.append({static_cast<double>(each.step.value), each.value});
    if (!counted.isEmpty()) return counted;
    if (!report.mfu.value || report.tokensPerSecond.value_or(0) <= 0) return {};
    QVector<QPointF> points = part.figures->curves.throughput;
    for (QPointF& point : points) point.ry() *= *report.mfu.value / *report.tokensPerSecond;
    return points;
}

QString trainingHeadline(const OpenRecording& recording, const Selection& selection) {
    const auto losses = valuesIn(figuresOf(recording)->curves.of("loss"), recording, selection);
    const auto steps = selectedSteps(recording, selection);
    const QString where = steps ? stepsWord(*steps) + u": "_s : QString();
    if (losses.empty()) {
        if (selection.cutsTime() && !steps) return u"No whole step lies in the selection."_s;
        return steps ? where + u"no loss was reported."_s : u"No step reported a loss."_s;
    }
    if (losses.size() == 1) return u"%1loss %2 nats."_s.arg(where, formatNumber(losses.front()));
    return (steps ? u"%1loss went from %2 to %3 nats in %4 steps."_s
                  : u"%1Loss went from %2 to %3 nats in %4 steps."_s)
        .arg(where, formatNumber(losses.front()), formatNumber(losses.back()),
             formatCount(static_cast<std::int64_t>(losses.size())));
}

QString trainingSubline(const SelectedPart& part) {
    const auto& report = *part.report;
    const StepFiguresPtr figures = figuresOf(*part.recording);
    QStringList parts;
    const auto held =
        valuesIn(figures->curves.of("validation_loss"), *part.recording, part.selection);
    if (!held.empty()) {
        parts << u"Last validation loss %1 nats."_s.arg(formatNumber(held.back()));
    } else {
        parts << (part.selection.cutsTime() ? u"No validation pass in these steps."_s
                                            : u"No validation pass in this recording."_s);
    }
    if (report.stepSecondsMedian) {
        const Duration median{static_cast<std::int64_t>(*report.stepSecondsMedian * 1e9)};
        QString sentence =
            u"Median step %1 of %2"_s.arg(formatDuration(median), formatCount(report.steadySteps));
        if (report.warmupStepsLeftOut > 0)
            sentence += u", %1 warm-up steps left out"_s.arg(report.warmupStepsLeftOut);
        parts << sentence + u'.';
    }
    if (!part.selection.ranks.empty())
        parts << u"Loss, learning rate and gradient norm are of all ranks; speed is of those "
                 u"selected."_s;
    return parts.join(u' ');
}

QString variantName(const QString& word) {
    for (const theory::FlopsVariantWords& each : wordsOf(theory::FlopsVariant{}))
        if (word == QLatin1StringView(each.word)) return QString::fromLatin1(each.name);
    return word;
}

QString variantTip(const QString& word) {
    for (const theory::FlopsVariantWords& each : wordsOf(theory::FlopsVariant{}))
        if (word == QLatin1StringView(each.word))
            return u"%1: %2. Source: %3"_s.arg(word, QString::fromLatin1(each.definition),
                                               QString::fromUtf8(each.source));
    return {};
}

}  // namespace shardscope::desktop
