#include "app/desktop/pages/plan/plan_page.h"

#include "app/desktop/loading/recording_loader.h"
#include "app/desktop/models/answer_table.h"
#include "app/desktop/models/format.h"
#include "app/desktop/pages/plan/calibrate_dialog.h"
#include "app/desktop/pages/plan/what_if_panel.h"
#include "app/desktop/pages/run_fields/bound_field.h"
#include "app/desktop/session/recorder_session.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/legend.h"
#include "app/desktop/widgets/pictures/stacked_bars.h"
#include "app/desktop/widgets/splitter.h"
#include "app/desktop/widgets/states.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"
#include "engine/run/config/run_rules.h"
#include "profiler/questions/question.h"
#include "storage/model/rank_facts.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using run::RunConfig;

Result<planning::PlanTimes> timesIn(storage::RecordingReader& reader, const QString& name) {
    const auto summary = reader.summary();
    if (!summary) return failure(summary);
    const questions::Selection all;
    const auto ranks = questions::Asked{reader, *summary, all}.events();
    if (!ranks) return failure(ranks);
    return planning::timesOfRecording(*summary, *ranks, name.toStdString());
}

/// What a recording says of computing and link, or why it says nothing, and its settings.
Result<Learnt> learnFrom(storage::RecordingReader& reader, const OpenRecording& recording,
                         const storage::Generation&) {
    const QString name = recording.address().section(u'/', -1);
    auto times = timesIn(reader, name);
    if (!times && times.error().code == ErrorCode::kCancelled) return failure(times);
    Learnt learnt;
    if (auto config = run::parseRunConfigJson(recording.summary.run.configJson))
        if (config->work == run::Work::kTraining) learnt.config = std::move(*config);
    if (times) {
        learnt.times = std::make_shared<planning::PlanTimes>(std::move(*times));
    } else {
        learnt.why = QObject::tr("No times are taken from %1: %2.")
                         .arg(name, fromUtf8(times.error().message));
    }
    return learnt;
}

/// For a plan like the recorded run: what it wrote and went on from is not part of it. A GPU's name
/// in a recording is not a row of the table of devices: that choice stays.
RunConfig likeRecorded(RunConfig recorded, const RunConfig& now) {
    recorded.hosts.clear();
    recorded.output.clear();
    recorded.resume.clear();
    recorded.checkpoint.clear();
    if (recorded.device == now.device) return recorded;
    recorded.device = now.device;
    recorded.precision = now.precision;
    return recorded;
}

/// Of a strategy or a device: tables have many columns.
constexpr int kWordWidth = 122;
/// Below it charts are one under the other.
constexpr int kChartsBesideWidth = 860;

std::vector<LegendEntry> legendOf(const std::vector<LineSeries>& lines) {
    std::vector<LegendEntry> entries;
    for (const LineSeries& line : lines) entries.push_back({line.name, line.meaning});
    return entries;
}

int levelOf(std::int32_t ranks) {
    return static_cast<int>(std::lround(std::log2(std::max(1, ranks))));
}

}  // namespace

PageEntry PlanPage::entry() {
    return {QString(page_ids::kPlan), u"plan"_s, tr("Plan"),
            [](PageContext& context, QWidget* parent) -> Page* {
                return new PlanPage(context, parent);
            }};
}

PlanPage::PlanPage(PageContext& context, QWidget* parent)
    : Page(parent),
      m_loader(context.loader),
      m_topic(context.loader, Urgency::kTable),
      m_machine(thisMachine()) {
    m_pool.setMaxThreadCount(1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(kGapPage, 20, kGapPage - 14, kGap);
    layout->setSpacing(12);
    m_headline = headlineLabel(tr("Plan"), this);
    m_headline->setWordWrap(true);
    m_headline->setAccessibleName(tr("What to take"));
    m_sources = quietLabel({}, this);
    layout->addWidget(m_headline);
    layout->addWidget(m_sources);
    m_problem = new Banner(this);
    layout->addWidget(m_problem);
    auto* columns = new Splitter(Qt::Horizontal, u"plan.settings"_s,
                                 tr("Divider between the settings and the plan"), this);
    columns->addWidget(buildSettings(this));
    columns->addWidget(buildPlan(this));
    columns->setHandleWidth(kGap);
    columns->setPreferredShares({3, 7});
    layout->addWidget(columns, 1);
    layout->addWidget(hairline(this));
    auto* actions = new QHBoxLayout;
    actions->setContentsMargins(0, 0, 14, 0);
    auto* calibrate = new QPushButton(tr("Calibrate this machine…"), this);
    calibrate->setToolTip(tr("Measure how fast it computes and communicates; plans go by it"));
    connect(calibrate, &QPushButton::clicked, this, [this] { openCalibration(findRecorder()); });
    actions->setSpacing(kGap);
    actions->addStretch();
    actions->addWidget(calibrate);
    m_start = new QPushButton(tr("Start this run…"), this);
    m_start->setProperty("primary", true);
    connect(m_start, &QPushButton::clicked, this,
            [this] { Q_EMIT fillInRequested(QString(page_ids::kNewRun), m_view.start); });
    actions->addWidget(m_start);
    layout->addLayout(actions);
    connect(&context.loader, &RecordingLoader::sketched, this, [this] { m_learning = false; });
    connect(&context.loader, &RecordingLoader::opened, this, [this] {
        if (isVisible()) learn();
    });
    setConfig(RunConfig());
}

PlanPage::~PlanPage() {
    m_pool.waitForDone();
}

BoundField* PlanPage::field(std::string_view key) const {
    const auto found = std::find_if(m_fields.begin(), m_fields.end(),
                                    [&](const BoundField* each) { return each->key() == key; });
    return found != m_fields.end() ? *found : nullptr;
}

std::vector<Page::KeyNote> PlanPage::keyNotes() const {
    return {{{},
             tr("what if the link, a rank, a kernel or a phase were faster"),
             [panel = m_whatIf] { panel->reveal(); }}};
}

PlanSettings PlanPage::settings() const {
    PlanSettings settings;
    settings.config = m_base;
    for (const BoundField* each : m_fields) each->apply(settings.config);
    const RunConfig given = settings.config;
    settings.config = run::settled(settings.config, m_base);
    // To a run it is a modelled one, which GPUs have none of; to a plan the real one.
    settings.config.linkGigabytesPerSecond = given.linkGigabytesPerSecond;
    settings.config.linkLatencyMicroseconds = given.linkLatencyMicroseconds;
    settings.device = m_device->currentData().toString();
    settings.stateModel = stateModel();
    settings.ranksPerHost = m_perHost->value();
    settings.curvesOfRecommended = m_ofRecommended->isChecked();
    settings.machine = m_machine;
    settings.recorded = m_recorded;
    return settings;
}

std::optional<StateModel> PlanPage::stateModel() const {
    const int chosen = m_model->currentIndex();
    if (chosen == 0) return std::nullopt;
    StateModel model;
    model.known = planning::findKnownModel(m_model->currentData().toString().toStdString());
    model.parameters = m_parameters->text();
    model.stateBytes = m_stateBytes->text();
    return model;
}

void PlanPage::chooseModel(const QString& name) {
    const int place = m_model->findData(name);
    if (place >= 0) m_model->setCurrentIndex(place);
}

/// Of a model that the engine does not train, what says nothing of its state goes.
void PlanPage::takeModel() {
    const std::optional<StateModel> state = stateModel();
    for (BoundField* each : m_fields) each->setVisible(!state || each->key() == "ranks");
    m_ofRecommended->setVisible(!state);
    m_parametersBlock->setVisible(state && state->known == nullptr);
    m_stateBlock->setVisible(state.has_value());
    edit();
}

void PlanPage::setConfig(const RunConfig& config) {
    m_filling = true;
    m_base = config;
    for (BoundField* each : m_fields) each->fill(config);
    m_filling = false;
    refresh();
}

void PlanPage::chooseDevice(const QString& device) {
    const int place = m_device->findData(device);
    if (place < 0) return;
    m_device->setCurrentIndex(place);
    takeDevice();
}

void PlanPage::choosePreset() {
    RunConfig chosen = settings().config;
    if (const auto preset = run::findModelPreset(chosen.model.name)) chosen.model = *preset;
    setConfig(chosen);
}

/// A device of the table is a GPU, and this machine its CPU.
void PlanPage::takeDevice() {
    m_edited = true;
    RunConfig chosen = settings().config;
    const bool gpu = !m_device->currentData().toString().isEmpty();
    chosen.device = gpu ? run::Device::kCuda : run::Device::kCpu;
    if (gpu && chosen.precision == run::Precision::kFloat32)
        chosen.precision = run::Precision::kBFloat16;
    if (!gpu) chosen.precision = run::Precision::kFloat32;
    if (gpu) m_perHost->setValue(planning::kDevicesOfAHost);
    setConfig(chosen);
}

void PlanPage::resizeEvent(QResizeEvent* event) {
    Page::resizeEvent(event);
    m_chartRow->setDirection(width() < kChartsBesideWidth ? QBoxLayout::TopToBottom
                                                          : QBoxLayout::LeftToRight);
}

CalibrateDialog* PlanPage::openCalibration(const QString& program) {
    auto* dialog = new CalibrateDialog(m_machine, settings().config.ranks, program, this);
    connect(dialog, &CalibrateDialog::calibrated, this, &PlanPage::refresh);
    dialog->open();
    return dialog;
}

void PlanPage::showEvent(QShowEvent* event) {
    Page::showEvent(event);
    learn();
    refresh();
}

void PlanPage::learn() {
    const RecordingPtr recording = m_loader.recording();
    if (!recording || recording == m_learnt) return;
    m_learnt = recording;
    m_recorded = {};
    m_learning = true;
    m_topic.ask(&learnFrom, [this](const Learnt& learnt) {
        m_learning = false;
        m_recorded = learnt;
        if (learnt.times != nullptr)
            m_perHost->setValue(std::max(learnt.times->ranksOnHost, m_perHost->minimum()));
        if (m_edited || !learnt.config) return refresh();
        setConfig(likeRecorded(*learnt.config, settings().config));
    });
}

void PlanPage::edit() {
    m_edited = m_edited || !m_filling;
    refresh();
}

void PlanPage::refresh() {
    if (m_filling) return;
    const QSignalBlocker quiet(m_ranks);
    m_ranks->setValue(levelOf(settings().config.ranks));
    make();
}

/// One plan at a time; what changed meanwhile is planned next.
void PlanPage::make() {
    if (!isVisible()) return;
    if (std::exchange(m_stale, true) && m_making) return;
    if (m_making) return;
    m_stale = false;
    m_making = true;
    m_pool.start([this, settings = settings()]() mutable {
        if (settings.device.isEmpty()) settings.calibration = calibrationOf(settings.machine);
        PlanView view = makePlanView(settings);
        // Dropped by Qt when this is gone; the destructor waits for the thread.
        QMetaObject::invokeMethod(
            this, [this, view = std::move(view)]() mutable { take(std::move(view)); },
            Qt::QueuedConnection);
    });
}

void PlanPage::take(PlanView view) {
    m_making = false;
    const bool keeps = !view.problem.isEmpty();
    if (keeps) {
        m_view.problem = view.problem;
    } else {
        m_view = std::move(view);
    }
    showView();
    if (m_stale) make();
}

/// With a problem the plan before it stays, pale.
void PlanPage::showView() {
    const bool whole = m_view.problem.isEmpty();
    m_problem->setText(m_view.problem);
    m_plan->setEnabled(whole);
    m_more->setEnabled(whole);
    m_start->setEnabled(whole && m_view.trains);
    m_start->setToolTip(m_view.trains ? tr("Fill in New run with the recommended settings")
                                      : tr("The engine does not train this model"));
    if (!whole) return;
    m_plan->show();
    m_more->show();
    m_headline->setText(m_view.headline);
    m_sources->setText(m_view.sources);
    m_memoryTitle->setText(m_view.trains ? tr("Most that a rank holds, by strategy")
                                         : tr("State that a rank keeps, by strategy"));
    m_memory->setBars(m_view.memory);
    m_legend->setEntries(m_view.legend);
    showTable(*m_strategies.table, *m_strategies.title, m_view.strategies,
              {"strategy", "state_bytes_per_rank", "peak_bytes_per_rank",
               "communication_bytes_per_step", "fits"});
    m_reasons->setText(m_view.reasons.join(u'\n'));
    showTable(*m_times.table, *m_times.title, m_view.times);
    for (const auto& [label, text] :
         {std::pair{m_replay, m_view.replay}, std::pair{m_unknown, m_view.unknown.join(u'\n')},
          std::pair{m_ends, m_view.ends}, std::pair{m_aboveLinear, m_view.aboveLinear}}) {
        label->setText(text);
        label->setVisible(!text.isEmpty());
    }
    showTable(*m_limits.table, *m_limits.title, m_view.limits);
    showTable(*m_weak.table, *m_weak.title, m_view.weak);
    showTable(*m_strong.table, *m_strong.title, m_view.strong);
    showTable(*m_fitsOn.table, *m_fitsOn.title, m_view.fitsOn);
    showTable(*m_divisions.table, *m_divisions.title, m_view.divisions);
    m_ofRanks->setTitles(
        m_view.trains ? tr("Memory per rank over ranks") : tr("State per rank over ranks"),
        m_view.memoryUnit, tr("ranks"));
    m_ofRanks->setSeries(m_view.memoryOverRanks);
    m_ofRanksLegend->setEntries(legendOf(m_view.memoryOverRanks));
    const bool curves = !m_view.efficiency.empty();
    m_charts->setVisible(curves);
    if (!curves) return;
    m_chartLegend->setEntries(legendOf(m_view.efficiency));
    m_efficiency->setTitles(tr("Efficiency of %1").arg(m_view.curvesOf), tr("%"), tr("ranks"));
    m_efficiency->setSeries(m_view.efficiency);
    m_throughput->setTitles(tr("Throughput of %1").arg(m_view.curvesOf), tr("ktok/s"), tr("ranks"));
    m_throughput->setBands(m_view.bands);
    m_throughput->setSeries(m_view.throughput);
}

void PlanPage::showTable(DataTable& table, QLabel& title, const questions::Table& shown,
                         const std::vector<const char*>& keys) {
    const bool any = !shown.rows.empty();
    table.setVisible(any);
    title.setVisible(any);
    if (!any) return;
    AnswerTable made = answerTable(shown, 0, keys);
    for (TableColumn& column : made.columns)
        if (!column.numeric && !column.code)
            column.minimumWidth = std::min(column.minimumWidth, kWordWidth);
    title.setText(made.title);
    table.updateTable(std::move(made.columns), std::move(made.rows));
}

}  // namespace shardscope::desktop
