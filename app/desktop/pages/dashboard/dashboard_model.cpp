#include "app/desktop/pages/dashboard/dashboard_model.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/ledger_view.h"
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/models/step_split.h"
#include "app/desktop/models/theory_bars.h"
#include "app/desktop/models/training_figures.h"
#include "engine/run/config/run_config.h"
#include "engine/run/config/run_settings.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <set>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

std::optional<run::RunConfig> configOf(const SelectedPart& part) {
    auto config = run::parseRunConfigJson(part.summary->run.configJson);
    if (!config) return std::nullopt;
    return run::withChosenKernels(std::move(*config), part.summary->facts);
}

DashboardTile absent(const QString& title, const QString& why) {
    return {title, {}, AbsentTile{why}};
}

QString withoutPhases(const SelectedPart& part) {
    return absenceText(*part.recording, CaptureLevel::kLight, u"phases of steps"_s);
}

QString notOurs() {
    return u"unknown: only own trainings say what their model is made of"_s;
}

DashboardTile metricTile(const SelectedPart& part, const MetricChart& chart) {
    ChartTile tile;
    tile.unit = chart.unit;
    tile.bottom = u"step"_s;
    tile.lines = chart.series;
    tile.startsAtZero = chart.key != u"loss"_s;
    tile.absent = part.recording->program() || missingMetrics(*part.recording).isEmpty()
                      ? absentMetric(*part.recording, chart.key)
                      : u"not recorded"_s;
    return {chart.title, chart.definition, std::move(tile)};
}

DashboardTile metric(const SelectedPart& part, const std::vector<MetricChart>& charts,
                     const QString& key) {
    const auto chart = std::find_if(charts.begin(), charts.end(),
                                    [&](const MetricChart& each) { return each.key == key; });
    return chart == charts.end() ? absent(key, u"not recorded"_s) : metricTile(part, *chart);
}

DashboardTile spreadTile(const Spread& spread) {
    ChartTile tile;
    tile.unit = u"steps"_s;
    tile.bottom = spread.unit;
    tile.histogram = spread.histogram;
    tile.marks = spread.marks;
    tile.whole = false;
    tile.absent = u"No distribution: it takes two steps with a value."_s;
    return {spread.title, {}, std::move(tile)};
}

DashboardTile mfuTile(const SelectedPart& part, const Targets& targets) {
    ChartTile tile;
    tile.unit = u"%"_s;
    tile.bottom = u"step"_s;
    LineSeries line{u"MFU"_s, mfuCurve(part), Meaning::kCompute};
    for (QPointF& point : line.points) point.ry() *= 100;
    if (!line.points.isEmpty()) tile.lines = {std::move(line)};
    tile.targets = {{targets.mfu * 100, u"target %1"_s.arg(formatPercent(targets.mfu)), true}};
    tile.absent = fromUtf8(part.report->mfu.reason);
    return {u"Model FLOP utilisation"_s,
            u"Variant %1 over the peak of all ranks: %2"_s.arg(
                fromUtf8(part.report->mfu.variant), fromUtf8(part.report->mfu.peakSource)),
            std::move(tile)};
}

DashboardTile overlapTile(const SelectedPart& part) {
    ChartTile tile;
    tile.unit = u"%"_s;
    tile.bottom = u"step"_s;
    LineSeries line{u"hidden"_s, {}, Meaning::kGather};
    for (const analysis::StepOverlap& step : part.report->overlapByStep)
        if (step.communication.ns > 0 && step.computeKnown)
            line.points.push_back({static_cast<double>(step.step.value),
                                   100 * share(step.hidden, step.communication)});
    if (!line.points.isEmpty()) tile.lines = {std::move(line)};
    if (const auto limit = part.report->overlap.limit())
        tile.targets = {{*limit * 100, u"limit %1"_s.arg(formatPercent(*limit)), true}};
    tile.absent = noOverlapText(part);
    return {u"Communication hidden by compute"_s,
            u"Share of each step's communication on all ranks that compute of the same rank "
            u"hides. Dashed: the most data transfer that this schedule could hide."_s,
            std::move(tile)};
}

Gauge gaugeOf(const TargetRow& row, double target, const QString& definition) {
    Gauge gauge{row.name, row.value, row.share, target, {}, true, definition};
    if (!row.share) {
        gauge.value = unknownText();
        gauge.definition = row.value;
        gauge.verdict = u"unknown"_s;
        return gauge;
    }
    if (!row.verdict) return gauge;
    gauge.verdict = row.unsure ? unsureWord() : row.verdict->text;
    gauge.good = row.verdict->passes && !row.unsure;
    return gauge;
}

DashboardTile gaugesTile(const SelectedPart& part, const Targets& targets) {
    const auto rows = targetRows(part, targets, {});
    GaugesTile tile{
        {gaugeOf(rows[0], targets.mfu, u"Model FLOPs per second over the peak of all ranks."_s),
         gaugeOf(rows[2], targets.communication, u"Of step time, over all ranks."_s)}};
    Gauge overlap{u"Overlap, of its limit"_s,
                  unknownText(),
                  part.report->overlap.reachedOfLimit(),
                  {},
                  {},
                  true,
                  u"Of data transfer: what is hidden / what this schedule could hide."_s};
    if (overlap.share) overlap.value = formatPercent(*overlap.share);
    tile.gauges.push_back(overlap);
    tile.gauges.push_back(gaugeOf(
        rows[1], targets.scaling,
        u"Throughput over that of one rank times the ranks; needs a recording of one rank."_s));
    return {u"Against targets"_s, {}, std::move(tile)};
}

DashboardTile ledgerTile(const SelectedPart& part) {
    const LedgerView& ledger = part.figures->ledger;
    const QString title = u"Where a step goes"_s;
    if (ledger.empty()) return absent(title, withoutPhases(part));
    BarsTile tile{ledgerBars(ledger), ledgerLegend(ledger), BarUnit::kMilliseconds,
                  u"ms per step, mean"_s};
    if (tile.bars.size() > kMostRankBars) tile.bars = {meanBar(ledger)};
    return {title, u"Of each rank, the mean over the steps."_s, std::move(tile)};
}

DashboardTile splitTile(const SelectedPart& part) {
    StepSplit split = stepSplit(part.figures->ledger.steps);
    const QString title = u"Each step, by what it was spent on"_s;
    if (part.figures->ledger.empty()) return absent(title, withoutPhases(part));
    return {title, u"Mean over the ranks."_s,
            ColumnsTile{std::move(split.columns), std::move(split.legend)}};
}

/// Of the ranks that need most.
DashboardTile peakTile(const SelectedPart& part) {
    constexpr std::size_t kMost = 3;
    QString title = u"Peak memory by category"_s;
    std::vector<const analysis::RankMemory*> known;
    for (const auto& each : part.report->memory)
        if (each.known) known.push_back(&each);
    if (known.empty()) return absent(title, noMemoryText(*part.recording));
    std::stable_sort(known.begin(), known.end(),
                     [](const auto* a, const auto* b) { return a->peak > b->peak; });
    if (known.size() > kMost) {
        title = u"Peak memory, the highest %1 of %2 ranks"_s.arg(kMost).arg(known.size());
        known.resize(kMost);
    }
    std::sort(known.begin(), known.end(),
              [](const auto* a, const auto* b) { return a->rank.value < b->rank.value; });
    BarsTile tile;
    tile.unit = BarUnit::kBytes;
    std::set<MemoryCategory> seen;
    for (const auto* memory : known) {
        StackedBar bar;
        bar.label = u"rank %1"_s.arg(memory->rank.value);
        bar.total = formatBytes(memory->peak);
        bar.mark = static_cast<double>(memory->theory.count);
        for (const MemoryCategory category : stackOrder()) {
            const Bytes size = memory->byCategory[static_cast<std::size_t>(category)];
            if (size.count <= 0) continue;
            seen.insert(category);
            bar.segments.push_back({static_cast<double>(size.count), meaningOf(category),
                                    QString::fromLatin1(toWord(category)), formatBytes(size)});
        }
        tile.bars.push_back(std::move(bar));
    }
    for (const MemoryCategory category : stackOrder())
        if (seen.contains(category))
            tile.legend.push_back(
                {QString::fromLatin1(toWord(category)), meaningOf(category), false});
    return {title, u"At the moment at which a rank held most; dashed: theory."_s, std::move(tile)};
}

DashboardTile stagesTile(const std::optional<run::RunConfig>& config) {
    const QString title = u"Memory per rank by ZeRO stage, theory"_s;
    if (!config) return absent(title, notOurs());
    return {title, u"The same run by each strategy, at the moment at which most is held."_s,
            BarsTile{stageBars(*config), {}, BarUnit::kBytes, {}}};
}

DashboardTile scalingTile(const SelectedPart& part, const std::optional<run::RunConfig>& config) {
    const QString title = u"Memory per rank over world size, theory"_s;
    if (!config) return absent(title, notOurs());
    ChartTile tile;
    tile.unit = u"MiB"_s;
    tile.bottom = u"ranks"_s;
    tile.lines = stageCurves(*config);
    for (LineSeries& line : tile.lines) line.dashed = true;
    if (const auto* worst = part.report->worstMemory()) {
        LineSeries measured{
            u"measured"_s,
            {{static_cast<double>(config->ranks), static_cast<double>(worst->managed().count)}},
            Meaning::kOptimizer};
        measured.dots = true;
        measured.joined = false;
        tile.lines.push_back(std::move(measured));
    }
    constexpr double kMebi = 1 << 20;
    for (LineSeries& line : tile.lines)
        for (QPointF& point : line.points) point.ry() /= kMebi;
    tile.logarithmic = true;
    tile.startsAtZero = false;
    return {title,
            u"What a rank of the same run would hold at its peak; micro-batch and model stay."_s,
            std::move(tile)};
}

DashboardTile parametersTile(const std::optional<run::RunConfig>& config) {
    const QString title = u"Parameters of the model"_s;
    if (!config) return absent(title, notOurs());
    return {title, u"Of all blocks together."_s,
            BarsTile{parameterBars(*config), {}, BarUnit::kCount, u"parameters"_s}};
}

DashboardTile flowTile(const SelectedPart& part, const std::optional<FlowOfStep>& flow) {
    const QString title = u"Flow of a step"_s;
    if (!flow) return absent(title, u"no step was recorded"_s);
    auto rows = stepFlow(flow->step, flow->events);
    if (rows.empty()) return absent(title, withoutPhases(part));
    return {u"Flow of step %1 on rank %2"_s.arg(flow->step.step.value).arg(flow->step.rank.value),
            u"What is gathered, computed, released and reduced, and when; numbers are "
            u"blocks. The step whose time is nearest to the median."_s,
            FlowTile{std::move(rows), (flow->step.end - flow->step.start).milliseconds()}};
}

/// In the time that counts for each: of the steps, or from the first kernel to the last.
std::optional<DashboardTile> devicesTile(const SelectedPart& part) {
    BarsTile tile;
    tile.axis =
        part.report->withinSteps ? u"ms of the steps"_s : u"ms from the first kernel to the last"_s;
    for (const analysis::DeviceUse& use : part.report->devices) {
        if (!use.traced || use.whole().ns == 0) continue;
        const std::pair<std::pair<const char*, Meaning>, Duration> parts[] = {
            {{"compute", Meaning::kCompute}, use.compute},
            {{"communication, not hidden", Meaning::kOtherCollective},
             use.communication - use.hidden},
            {{"copies alone", Meaning::kDeviceCopy}, use.copies},
            {{"idle", Meaning::kIdle}, use.unused()}};
        StackedBar bar{u"rank %1"_s.arg(use.device.rank.value), {}, {}};
        for (const auto& [what, time] : parts)
            if (time.ns > 0)
                bar.segments.push_back({time.milliseconds(), what.second,
                                        QString::fromLatin1(what.first), formatDuration(time)});
        bar.total = formatDuration(use.whole());
        if (tile.bars.empty())
            for (const auto& [what, time] : parts)
                tile.legend.push_back({QString::fromLatin1(what.first), what.second, false});
        tile.bars.push_back(std::move(bar));
    }
    if (tile.bars.empty() || tile.bars.size() > kMostRankBars) return std::nullopt;
    return DashboardTile{u"What devices did"_s,
                         u"Kernels as unions: what runs at the same time counts once."_s,
                         std::move(tile)};
}

/// Whether there is anything to be seen in it.
bool isBare(const DashboardTile& tile) {
    if (std::holds_alternative<AbsentTile>(tile.content)) return true;
    if (const auto* gauges = std::get_if<GaugesTile>(&tile.content))
        return std::none_of(gauges->gauges.begin(), gauges->gauges.end(),
                            [](const Gauge& gauge) { return gauge.share.has_value(); });
    const auto* chart = std::get_if<ChartTile>(&tile.content);
    return chart != nullptr && !chart->histogram &&
           std::all_of(chart->lines.begin(), chart->lines.end(),
                       [](const LineSeries& line) { return line.points.isEmpty(); });
}

QString whyBare(const DashboardTile& tile) {
    if (const auto* absent = std::get_if<AbsentTile>(&tile.content)) return absent->why;
    const auto* chart = std::get_if<ChartTile>(&tile.content);
    return chart != nullptr && !chart->absent.isEmpty() ? chart->absent : u"unknown"_s;
}

/// What is not there makes room, and is named once with its reason; of nothing at all the tiles
/// say it.
void makeRoom(Dashboard& made) {
    std::vector<std::pair<QString, QStringList>> left;  // titles by reason
    for (const DashboardTile& tile : made.tiles) {
        if (!isBare(tile)) continue;
        const QString why = whyBare(tile);
        auto same = std::find_if(left.begin(), left.end(),
                                 [&](const auto& each) { return each.first == why; });
        if (same == left.end()) same = left.insert(left.end(), {why, {}});
        same->second << tile.title;
    }
    const auto bare = std::count_if(made.tiles.begin(), made.tiles.end(), isBare);
    if (bare == 0 || bare == std::ssize(made.tiles)) return;
    std::erase_if(made.tiles, isBare);
    QStringList said;
    for (const auto& [why, titles] : left)
        said << u"%1: %2"_s.arg(titles.join(u", "_s), why.endsWith(u'.') ? why.chopped(1) : why);
    made.leftOut = u"Left out – "_s + said.join(u"; "_s) + u'.';
}

QString summaryOf(const SelectedPart& part) {
    const auto& report = *part.report;
    QStringList words;
    if (report.tokensPerSecond) words << u"%1 tok/s"_s.arg(formatNumber(*report.tokensPerSecond));
    if (report.stepSecondsMedian)
        words << u"median step %1 of %2"_s
                     .arg(formatDuration(
                         {static_cast<std::int64_t>(*report.stepSecondsMedian * 1e9)}))
                     .arg(report.steadySteps);
    if (report.cores.takenOfSteps() >= analysis::kNotedTaken)
        words << u"without a core %1"_s.arg(formatPercent(report.cores.takenOfSteps()));
    if (report.mfu.value) words << u"MFU %1"_s.arg(formatPercent(*report.mfu.value));
    if (const auto* worst = report.worstMemory())
        words << u"peak memory %1"_s.arg(formatBytes(worst->peak));
    if (report.lossLast) words << u"loss %1"_s.arg(formatNumber(*report.lossLast));
    return words.join(u" · "_s);
}

}  // namespace

QString dashboardHeadline(const SelectedPart& part) {
    const auto& report = *part.report;
    if (!part.refusal.isEmpty())
        return u"Nothing to show for this selection: %1."_s.arg(part.refusal);
    if (!report.stepSecondsMedian) return u"%1 on one sheet."_s.arg(part.recording->label());
    QString text =
        u"A step takes %1 (median of %2)"_s
            .arg(formatDuration({static_cast<std::int64_t>(*report.stepSecondsMedian * 1e9)}))
            .arg(report.steadySteps);
    if (report.tokensPerSecond)
        text = u"%1 tok/s: %2"_s.arg(formatNumber(*report.tokensPerSecond),
                                     text.replace(0, 1, u"a"_s));
    if (report.mfu.value) text += u", at %1 MFU"_s.arg(formatPercent(*report.mfu.value));
    if (report.cores.takenOfSteps() >= analysis::kNotedTaken)
        text += u"; ranks were without a core for %1 of it"_s.arg(
            formatPercent(report.cores.takenOfSteps()));
    return text + u'.';
}

Dashboard dashboardOf(const SelectedPart& part, const Targets& targets,
                      const std::optional<FlowOfStep>& flow) {
    const OpenRecording& recording = *part.recording;
    const auto charts = metricCharts(recording, part.selection);
    const auto spread = spreads(recording, *part.report, part.selection);
    const auto config = configOf(part);
    Dashboard made;
    made.title = recording.label();
    made.summary = summaryOf(part);
    made.notes = QStringList{occasionText(recording), incompleteText(recording),
                             leftOutText(recording), modelledLinkText(recording)}
                     .join(u' ')
                     .trimmed();
    made.tiles = {metric(part, charts, u"loss"_s),
                  metric(part, charts, u"learning_rate"_s),
                  metric(part, charts, u"gradient_norm"_s),
                  gaugesTile(part, targets),
                  metric(part, charts, QString::fromLatin1(kThroughputMetric)),
                  spreadTile(spread[2]),
                  spreadTile(spread[1]),
                  splitTile(part),
                  ledgerTile(part),
                  mfuTile(part, targets),
                  overlapTile(part),
                  peakTile(part),
                  stagesTile(config),
                  scalingTile(part, config),
                  parametersTile(config),
                  flowTile(part, flow)};
    if (auto devices = devicesTile(part))
        made.tiles.insert(made.tiles.begin(), std::move(*devices));
    makeRoom(made);
    return made;
}

}  // namespace shardscope::desktop
