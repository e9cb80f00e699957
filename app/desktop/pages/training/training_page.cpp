#include "app/desktop/pages/training/training_page.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/step_split.h"
#include "app/desktop/models/training_figures.h"
#include "app/desktop/pages/training/target_line.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/legend.h"
#include "app/desktop/widgets/pictures/column_chart.h"
#include "app/desktop/widgets/states.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"

#include <QCheckBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSlider>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kCurveHeight = 208;
constexpr int kSpreadHeight = 184;

Result<ComparedRun> readRun(storage::RecordingReader& reader, const QString& path) {
    auto summary = reader.summary();
    if (!summary) return failure(summary);
    return ComparedRun{path, QFileInfo(path).completeBaseName(), summary->run.worldSize,
                       stepCurves(*summary)};
}

}  // namespace

PageEntry TrainingPage::entry() {
    return {page_ids::kTraining, u"training"_s, tr("Training"),
            [](PageContext& context, QWidget* parent) -> Page* {
                return new TrainingPage(context, parent);
            }};
}

TrainingPage::TrainingPage(PageContext& context, QWidget* parent)
    : RecordingPage(context, parent),
      m_settingsFile(context.settingsFile),
      m_ofRanks(context.loader, Urgency::kTable) {
    setUp(buildContent(), entry().icon, tr("Does it learn?"),
          tr("Open a recording or start a run: this page then shows loss, learning rate, gradient "
             "norm, throughput and step time over the steps."),
          {{0, 0, 0.48, 0.46},
           {0.52, 0, 0.48, 0.46},
           {0, 0.52, 0.48, 0.46},
           {0.52, 0.52, 0.48, 0.46}},
          true);
    buildControls();
    connect(&context.loader, &RecordingLoader::sketched, this, [this] { m_others.clear(); });
    connect(&m_others, &ComparedRuns::changed, this, [this] {
        if (hasRecording()) present();
    });
    connect(&m_others, &ComparedRuns::failed, this,
            [this](const QString& path, const QString& message) {
                pageFrame().setBanner(tr("%1 cannot be compared: %2").arg(path, message));
            });
}

QWidget* TrainingPage::buildContent() {
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    m_none = new MessageState(entry().icon, tr("No training metrics"), {}, content);
    m_full = buildFull(content);
    layout->addWidget(m_none);
    layout->addWidget(m_full);
    return content;
}

QWidget* TrainingPage::buildFull(QWidget* parent) {
    auto* full = new QWidget(parent);
    auto* layout = new QVBoxLayout(full);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGapGroup);
    m_targets = new TargetLine(readTargets(m_settingsFile), full);
    connect(m_targets, &TargetLine::targetsChanged, this, [this](const Targets& targets) {
        writeTargets(m_settingsFile, targets);
        if (hasRecording()) present();
    });
    layout->addWidget(m_targets);
    m_grid = new QGridLayout;
    m_grid->setHorizontalSpacing(32);
    m_grid->setVerticalSpacing(kGap);
    for (std::size_t i = 0; i < m_curves.size(); ++i) {
        m_curves[i] = new ChartPanel(full);
        m_curves[i]->setMinimumHeight(kCurveHeight);
        m_grid->addWidget(m_curves[i], static_cast<int>(i) / 2, static_cast<int>(i) % 2);
        connect(m_curves[i], &ChartPanel::activated, this, &TrainingPage::selectStepAt);
        connect(m_curves[i], &ChartPanel::rangeSelected, this, &TrainingPage::selectStretch);
    }
    linkCharts({m_curves.begin(), m_curves.end()});
    layout->addLayout(m_grid);
    auto* row = new QHBoxLayout;
    row->setSpacing(32);
    for (ChartPanel*& spread : m_spreads) {
        spread = new ChartPanel(full);
        spread->setFixedHeight(kSpreadHeight);
        spread->setWholeNumbers(false);
        row->addWidget(spread);
    }
    layout->addLayout(row);
    m_splitBlock = new QWidget(full);
    auto* split = new QVBoxLayout(m_splitBlock);
    split->setContentsMargins(0, 0, 0, 0);
    m_split = new ColumnChart(m_splitBlock);
    m_splitLegend = new Legend(m_splitBlock);
    split->addWidget(sectionLabel(tr("What each step was spent on"), m_splitBlock));
    split->addWidget(m_splitLegend);
    split->addWidget(m_split);
    connect(m_split, &ColumnChart::activated, this, [this](int column) {
        this->selection().selectSteps(m_splitSteps[static_cast<std::size_t>(column)]);
    });
    layout->addWidget(m_splitBlock);
    layout->addStretch();
    return full;
}

void TrainingPage::buildControls() {
    auto* word = new QLabel(tr("Smoothing"), this);
    m_smoothing = new QSlider(Qt::Horizontal, this);
    m_smoothing->setRange(0, 99);
    m_smoothing->setFixedWidth(96);
    m_smoothing->setAccessibleName(tr("Smoothing, 0 to 0.99"));
    m_smoothing->setToolTip(
        tr("Exponential moving average; the curve itself stays behind it, pale."));
    connect(m_smoothing, &QSlider::valueChanged, this, [this, word](int value) {
        word->setText(value > 0 ? tr("Smoothing %1").arg(value / 100.0, 0, 'f', 2)
                                : tr("Smoothing"));
        if (hasRecording() && hasCurves()) presentCurves();
    });
    m_logarithmic = new QCheckBox(tr("Log"), this);
    m_logarithmic->setToolTip(tr("Logarithmic vertical axes"));
    connect(m_logarithmic, &QCheckBox::toggled, this, [this](bool on) {
        for (ChartPanel* chart : m_curves) chart->setLogarithmic(false, on);
    });
    m_compare = new QPushButton(tr("Compare with…"), this);
    m_compare->setToolTip(tr("Draw the curves of another recording over these."));
    connect(m_compare, &QPushButton::clicked, this, &TrainingPage::chooseOther);
    m_alone = new QPushButton(tr("Alone"), this);
    m_alone->setToolTip(tr("Leave out the other recordings."));
    connect(m_alone, &QPushButton::clicked, &m_others, &ComparedRuns::clear);
    m_alone->hide();
    for (QWidget* control : {static_cast<QWidget*>(word), static_cast<QWidget*>(m_smoothing),
                             static_cast<QWidget*>(m_logarithmic), static_cast<QWidget*>(m_compare),
                             static_cast<QWidget*>(m_alone)})
        pageFrame().addHeaderWidget(control);
}

void TrainingPage::chooseOther() {
    auto* dialog = new QFileDialog(this, tr("Compare with a recording"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFiles);
    dialog->setNameFilters({tr("Recordings (*.sscope)"), tr("All files (*)")});
    connect(dialog, &QFileDialog::filesSelected, this, [this](const QStringList& files) {
        for (const QString& file : files) compareWith(file);
    });
    dialog->open();
}

bool TrainingPage::hasStep(int step) const {
    const auto& steps = recording().summary.steps;
    return std::any_of(steps.begin(), steps.end(),
                       [step](const StepFacts& each) { return each.step.value == step; });
}

void TrainingPage::selectStepAt(double x) {
    const auto step = static_cast<std::int32_t>(std::lround(x));
    if (hasStep(step)) selection().selectSteps({StepIndex{step}, StepIndex{step}});
}

void TrainingPage::selectStretch(double low, double high) {
    auto first = static_cast<std::int32_t>(std::ceil(low));
    auto last = static_cast<std::int32_t>(std::floor(high));
    // a drag between two steps means the nearer one
    if (first > last) first = last = static_cast<std::int32_t>(std::lround((low + high) / 2));
    while (first < last && !hasStep(first)) ++first;
    while (last > first && !hasStep(last)) --last;
    if (hasStep(first)) selection().selectSteps({StepIndex{first}, StepIndex{last}});
}

void TrainingPage::present() {
    if (!hasPart()) return;
    const Selection& now = selection().current();
    const QString missing = missingMetrics(recording());
    m_none->setVisible(!missing.isEmpty());
    m_full->setVisible(missing.isEmpty());
    for (QWidget* control :
         {static_cast<QWidget*>(m_smoothing), static_cast<QWidget*>(m_logarithmic),
          static_cast<QWidget*>(m_compare)})
        control->setEnabled(missing.isEmpty());
    m_alone->setVisible(!m_others.runs().empty());
    if (!missing.isEmpty()) {
        m_none->setText(tr("No training metrics"), missing);
        pageFrame().setHeadline(tr("This recording has no training metrics."), {});
        return;
    }
    pageFrame().setHeadline(trainingHeadline(recording(), now), trainingSubline(part()));
    m_targets->setRows(targetRows(part(), m_targets->targets(), m_others.runs()));
    askForCurves();
    if (hasCurves()) {
        presentCurves();
        presentSpreads();
    }
    presentSplit();
}

/// Of a long run making those of some ranks takes longer than a frame.
void TrainingPage::askForCurves() {
    const std::vector<RankId>& ranks = selection().current().ranks;
    const RecordingPtr& wanted = part().recording;
    if (wanted == m_curvesRecording && ranks == m_curvesRanks) return;
    m_curvesRecording = wanted;
    m_curvesRanks = ranks;
    m_rankCurves.reset();
    m_ofRanks.forget();
    if (ranks.empty()) return;
    m_ofRanks.ask(
        [wanted, ranks](const auto&, const auto&,
                        const auto&) -> Result<std::shared_ptr<const StepCurves>> {
            return std::make_shared<const StepCurves>(stepCurves(wanted->summary, ranks));
        },
        [this](const std::shared_ptr<const StepCurves>& curves) {
            m_rankCurves = curves;
            presentCurves();
            presentSpreads();
        });
}

/// Else what was shown stays until they are there.
bool TrainingPage::hasCurves() const {
    return m_curvesRanks.empty() || m_rankCurves != nullptr;
}

void TrainingPage::presentCurves() {
    const auto charts =
        metricCharts(recording(), selection().current(),
                     {m_smoothing->value() / 100.0, &m_others.runs(), m_rankCurves.get()});
    double lastStep = 1;
    for (const MetricChart& chart : charts)
        for (const LineSeries& line : chart.series)
            if (!line.points.isEmpty()) lastStep = std::max(lastStep, line.points.back().x());
    std::optional<AxisRange> highlight;
    if (selection().current().cutsTime()) {
        if (const auto steps = recording().stepsOf(selection().current()))
            highlight = AxisRange{steps->first.value - 0.5, steps->last.value + 0.5};
    }
    for (std::size_t i = 0; i < m_curves.size(); ++i) {
        m_curves[i]->setVisible(i < charts.size());
        m_grid->removeWidget(m_curves[i]);
        if (i >= charts.size()) continue;
        // an odd one at the end takes the whole row
        const bool alone = i + 1 == charts.size() && i % 2 == 0;
        m_grid->addWidget(m_curves[i], static_cast<int>(i) / 2, static_cast<int>(i) % 2, 1,
                          alone ? 2 : 1);
        m_curves[i]->setTitles(charts[i].title, charts[i].unit, tr("step"));
        m_curves[i]->setDefinition(charts[i].definition);
        m_curves[i]->setEmptyText(absentMetric(recording(), charts[i].key));
        m_curves[i]->setSeries(charts[i].series);
        m_curves[i]->setRange(0, lastStep);
        m_curves[i]->setStartsAtZero(charts[i].key != u"loss"_s);
        m_curves[i]->setHighlight(highlight);
    }
}

void TrainingPage::presentSpreads() {
    const auto all =
        spreads(recording(), *part().report, selection().current(), m_rankCurves.get());
    for (std::size_t i = 0; i < m_spreads.size(); ++i) {
        m_spreads[i]->setTitles(all[i].title, tr("steps"), all[i].unit);
        m_spreads[i]->setEmptyText(tr("No distribution: it takes two steps with a value."));
        m_spreads[i]->setHistogram(all[i].histogram);
        m_spreads[i]->setMarks(all[i].marks);
    }
}

void TrainingPage::presentSplit() {
    StepSplit split = stepSplit(part().figures->ledger.steps);
    m_splitBlock->setVisible(!part().figures->ledger.empty());
    m_splitLegend->setEntries(std::move(split.legend));
    m_split->setTitles(tr("ms, mean over ranks"), split.across);
    m_split->setColumns(std::move(split.columns));
    m_splitSteps = std::move(split.steps);
}

void ComparedRuns::add(const QString& path) {
    // each is a separate kind: none replaces another that waits
    m_recordings.ask(
        m_asked++, {path},
        [path](const OtherRecordings::Readers& readers) { return readRun(*readers.front(), path); },
        [this, path](const Result<ComparedRun>& run) {
            if (run)
                take(*run);
            else
                Q_EMIT failed(path, fromUtf8(run.error().message));
        });
}

void ComparedRuns::take(ComparedRun run) {
    std::erase_if(m_runs, [&](const ComparedRun& each) { return each.path == run.path; });
    m_runs.push_back(std::move(run));
    Q_EMIT changed();
}

void ComparedRuns::clear() {
    m_runs.clear();
    Q_EMIT changed();
}

}  // namespace shardscope::desktop
