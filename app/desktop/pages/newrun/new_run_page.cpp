#include "app/desktop/pages/newrun/new_run_page.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/write_file.h"
#include "app/desktop/pages/newrun/program_tab.h"
#include "app/desktop/pages/newrun/tune_dialog.h"
#include "app/desktop/pages/run_fields/bound_field.h"
#include "app/desktop/pages/run_fields/fold_section.h"
#include "app/desktop/pages/run_fields/run_option_texts.h"
#include "app/desktop/session/recorder_session.h"
#include "app/desktop/widgets/detail_list.h"
#include "app/desktop/widgets/legend.h"
#include "app/desktop/widgets/panel.h"
#include "app/desktop/widgets/pictures/stacked_bars.h"
#include "app/desktop/widgets/plain_area.h"
#include "app/desktop/widgets/plain_layout.h"
#include "app/desktop/widgets/splitter.h"
#include "app/desktop/widgets/states.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"
#include "engine/run/config/run_commands.h"
#include "engine/run/config/run_file.h"
#include "engine/run/config/run_option.h"
#include "engine/run/config/run_rules.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"

#include <QApplication>
#include <QClipboard>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QShortcut>
#include <QSpinBox>
#include <QTabBar>
#include <QVBoxLayout>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using run::RunConfig;

constexpr int kFindWidth = 200;

/// A proper part of the ranks where there is one: what people mean by groups.
int suggestedGroup(int ranks) {
    for (int size = ranks / 2; size > 1; --size) {
        if (ranks % size == 0) return size;
    }
    return ranks;
}

}  // namespace

PageEntry NewRunPage::entry() {
    return {page_ids::kNewRun, u"newrun"_s, tr("New run"),
            [](PageContext& context, QWidget* parent) -> Page* {
                return new NewRunPage(context, parent);
            }};
}

NewRunPage::NewRunPage(PageContext& context, QWidget* parent)
    : Page(parent),
      m_outputFolder(context.recordingsFolder),
      m_moment(QDateTime::currentDateTime().toString(u"yyyyMMdd-HHmm"_s)),
      m_machine(thisMachine()) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(kGapPage, 20, kGapPage - 14, kGap);
    layout->setSpacing(12);
    layout->addLayout(buildTabs());
    m_kinds = new CurrentStack(this);
    m_kinds->addWidget(buildTraining());
    m_program = new ProgramTab(context.recordingsFolder, context.settingsFile, this);
    m_kinds->addWidget(m_program);
    layout->addWidget(m_kinds, 1);
    connect(m_tabs, &QTabBar::currentChanged, m_kinds, &QStackedWidget::setCurrentIndex);
    connect(m_program, &ProgramTab::startRequested, this, &NewRunPage::runRequested);
    connect(&m_sources, &RunSources::changed, this, &NewRunPage::refresh);
    connect(&context.session, &RecorderSession::stateChanged, this,
            [this, session = &context.session] { setBusy(session->isGoing()); });
    setConfig(RunConfig());
    m_program->setMoment(m_moment);
}

/// What is started: a training of ours, or what the user has.
QLayout* NewRunPage::buildTabs() {
    m_tabs = new QTabBar(this);
    m_tabs->addTab(tr("Train with Shardscope"));
    m_tabs->addTab(tr("Any program"));
    m_tabs->setTabToolTip(0, tr("A language model, trained by Shardscope's own engine"));
    m_tabs->setTabToolTip(1, tr("A script or program of yours, recorded as it is"));
    m_tabs->setDrawBase(false);
    m_tabs->setExpanding(false);
    m_tabs->setAccessibleName(tr("What to start"));
    auto* row = new QHBoxLayout;
    row->setContentsMargins(0, 0, 14, 0);
    row->setSpacing(kGapPage);
    row->addWidget(headlineLabel(tr("New run"), this));
    row->addWidget(m_tabs);
    row->addStretch();
    m_notFound = quietLabel({}, this);
    m_notFound->setWordWrap(false);
    row->addWidget(m_notFound);
    m_find = new QLineEdit(this);
    m_find->setPlaceholderText(tr("Find a setting"));
    m_find->setAccessibleName(tr("Find a setting"));
    m_find->setMaximumWidth(kFindWidth);
    row->addWidget(m_find);
    connect(m_find, &QLineEdit::textChanged, this, &NewRunPage::find);
    connect(m_tabs, &QTabBar::currentChanged, m_find, [this](int tab) {
        m_find->setVisible(tab == 0);
        m_notFound->setVisible(tab == 0);
    });
    auto* key = new QShortcut(QKeySequence::Find, this);
    key->setContext(Qt::WidgetWithChildrenShortcut);
    connect(key, &QShortcut::activated, this, [this] {
        m_tabs->setCurrentIndex(0);
        m_find->setFocus();
        m_find->selectAll();
    });
    return row;
}

QWidget* NewRunPage::buildTraining() {
    auto* training = new QWidget(this);
    auto* layout = plainLayout(training, 12);
    m_headline = quietLabel({}, this);
    m_headline->setFont(textFont(kTextPixels));
    layout->addWidget(m_headline);
    auto* columns = new Splitter(Qt::Horizontal, u"newrun.prediction"_s,
                                 tr("Divider between the fields and the prediction"), this);
    // What a run needs stays in sight of the field that changes it.
    columns->addWidget(scrollingColumn(buildForm(this), this));
    columns->addWidget(scrollingColumn(buildPrediction(this), this));
    columns->setHandleWidth(kGap);  // each column has a margin at its scroll bar
    columns->setPreferredShares({11, 8});
    layout->addWidget(columns, 1);
    layout->addWidget(hairline(this));
    layout->addLayout(buildActions());
    return training;
}

std::vector<Page::KeyNote> NewRunPage::keyNotes() const {
    return {{tr("Ctrl+F"), tr("find a setting")}};
}

void NewRunPage::fillIn(const RunConfig& config) {
    m_tabs->setCurrentIndex(0);
    setConfig(config);
}

QWidget* NewRunPage::buildPrediction(QWidget* parent) {
    auto* around = new QWidget(parent);
    auto* outer = new QVBoxLayout(around);
    outer->setContentsMargins(0, 0, 4, 0);
    auto* panel = new Panel(around);
    outer->addWidget(panel);
    outer->addStretch();
    auto* layout = new QVBoxLayout(panel);
    layout->setContentsMargins(kGapGroup, kGapGroup, kGapGroup, kGapGroup);
    layout->setSpacing(kGap);
    m_warning = new Banner(panel);
    m_memory = new StackedBars(panel);
    m_memory->setAccessibleName(tr("Predicted memory per rank"));
    m_memory->setLabelWidth(88);
    m_legend = new Legend(panel);
    m_traffic = new DetailList(panel);
    m_command = codeLabel({}, panel);
    m_command->setAccessibleName(tr("The same run on the command line"));
    m_memoryTitle = sectionLabel(tr("Predicted memory per rank"), panel);
    layout->addWidget(m_memoryTitle);
    layout->addWidget(m_memory);
    layout->addWidget(m_legend);
    layout->addSpacing(kGap);
    layout->addWidget(sectionLabel(tr("Predicted step"), panel));
    layout->addWidget(m_traffic);
    layout->addWidget(m_warning);
    layout->addSpacing(kGap);
    layout->addWidget(sectionLabel(tr("The same on the command line"), panel));
    layout->addWidget(m_command);
    return around;
}

/// Always in sight, with the reason why Start is off.
QLayout* NewRunPage::buildActions() {
    m_reason = quietLabel({}, this);
    m_reason->setForegroundRole(QPalette::BrightText);
    m_reason->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_reason->setAccessibleName(tr("Why the run cannot start"));
    auto* copy = new QPushButton(tr("Copy command"), this);
    connect(copy, &QPushButton::clicked, this,
            [this] { QApplication::clipboard()->setText(m_prediction.commandLine); });
    auto* save = new QPushButton(tr("Save as run file…"), this);
    connect(save, &QPushButton::clicked, this, &NewRunPage::saveRunFile);
    m_tune = new QPushButton(tr("Tune…"), this);
    connect(m_tune, &QPushButton::clicked, this, &NewRunPage::tune);
    m_start = new QPushButton(tr("Start run"), this);
    m_start->setProperty("primary", true);
    connect(m_start, &QPushButton::clicked, this, [this] {
        // A copy: a run that starts changes the suggested name, and with it the prediction.
        const QStringList arguments = m_prediction.arguments;
        Q_EMIT runRequested(config(), arguments);
    });
    auto* actions = new QHBoxLayout;
    actions->setContentsMargins(0, 0, 14, 0);
    actions->setSpacing(kGap);
    actions->addWidget(m_reason, 1);
    for (QPushButton* button : {copy, save, m_tune, m_start}) actions->addWidget(button);
    return actions;
}

BoundField* NewRunPage::field(std::string_view key) const {
    const auto found = std::find_if(m_fields.begin(), m_fields.end(),
                                    [&](const BoundField* each) { return each->key() == key; });
    return found != m_fields.end() ? *found : nullptr;
}

QString NewRunPage::reason() const {
    return m_reason->text();
}

RunConfig NewRunPage::config() const {
    RunConfig config = m_base;  // and what has no field here
    for (const BoundField* each : m_fields) each->apply(config);
    return run::settled(std::move(config), m_base);
}

void NewRunPage::setConfig(const RunConfig& config) {
    m_filling = true;
    m_base = config;
    for (BoundField* each : m_fields) each->fill(config);
    m_outputEdited = !config.output.empty();
    m_filling = false;
    refresh();
}

void NewRunPage::setBusy(bool busy) {
    m_busy = busy;
    m_moment = QDateTime::currentDateTime().toString(u"yyyyMMdd-HHmmss"_s);
    m_sources.forget();  // a run may have written a checkpoint
    refresh();
    m_program->setMoment(m_moment);
    m_program->setBusy(busy);
}

void NewRunPage::showEvent(QShowEvent* event) {
    // a suggested name says when the run was set up, not when the window was opened
    m_moment = QDateTime::currentDateTime().toString(u"yyyyMMdd-HHmmss"_s);
    QWidget::showEvent(event);
    m_sources.forget();  // files change while one looks at other pages
    refresh();
    m_program->setMoment(m_moment);
}

/// A size says how many of everything; what the parts are stays as chosen.
void NewRunPage::choosePreset() {
    RunConfig chosen = config();
    const auto preset = run::findModelPreset(chosen.model.name);
    if (!preset) return;
    const run::ModelConfig before = std::exchange(chosen.model, *preset);
    chosen.model.norm = before.norm;
    chosen.model.position = before.position;
    chosen.model.ffn = before.ffn;
    chosen.model.tieHead = before.tieHead;
    if (!m_outputEdited) chosen.output.clear();
    setConfig(chosen);
}

void NewRunPage::chooseStrategy() {
    auto* group = qobject_cast<QSpinBox*>(field("shard_ranks")->input());
    const RunConfig chosen = config();
    if (chosen.strategy == run::Strategy::kHsdp && group->value() == 0)
        group->setValue(suggestedGroup(chosen.ranks));
}

/// The run goes on as its checkpoint began.
void NewRunPage::takeCheckpoint() {
    const RunConfig now = config();
    const SourceFacts* facts = m_sources.of(now);
    if (facts == nullptr || !facts->resumed) return;
    RunConfig taken = *facts->resumed;
    taken.resume = now.resume;
    // What runs a program is not for a checkpoint to say.
    for (const run::RunCommand& command : run::commandsOf(taken)) {
        const run::RunOption* option = run::findRunOption(command.key);
        static_cast<void>(option->set(taken, option->get(now)));
    }
    taken.output = m_outputEdited ? now.output : std::string();
    setConfig(taken);
}

std::map<std::string, QString> NewRunPage::fieldProblems(const SourceFacts* facts) const {
    std::map<std::string, QString> problems;
    if (facts != nullptr) problems = facts->problems;
    const QString output = fromUtf8(config().output);
    if (QFile::exists(output))
        problems["output"] = tr("%1 is already there; choose another name.").arg(output);
    const auto& wrong = m_prediction.wrongFields;
    const auto first = std::find_if(wrong.begin(), wrong.end(),
                                    [this](std::string_view key) { return field(key) != nullptr; });
    if (first != wrong.end()) problems[std::string(*first)] = m_prediction.problem;
    return problems;
}

QString NewRunPage::whyNotStart(const SourceFacts* facts) const {
    if (!m_prediction.problem.isEmpty()) return m_prediction.problem;
    if (const QString wrong = nameProblem(runName()); !wrong.isEmpty()) return wrong;
    const auto problems = fieldProblems(facts);
    for (const BoundField* each : m_fields) {
        const auto found = problems.find(std::string(each->key()));
        if (found != problems.end()) return found->second;
    }
    if (facts == nullptr) return tr("Checking the files…");
    if (m_busy) return tr("A run is going; stop it on the Live page or wait for its end.");
    return {};
}

void NewRunPage::suggestOutput() {
    if (m_outputEdited) return;
    const QString name = suggestedRecordingName(config(), m_moment);
    m_filling = true;
    qobject_cast<QLineEdit*>(field("output")->input())
        ->setText(QDir(m_outputFolder).filePath(name));
    m_filling = false;
}

void NewRunPage::refresh() {
    if (m_filling) return;
    suggestOutput();
    const RunConfig now = config();
    const SourceFacts* facts = m_sources.of(now);
    const bool resumed = facts != nullptr && facts->resumed.has_value();
    m_prediction = predict(now, m_machine, resumed ? &*facts->resumed : nullptr);
    desktop::addName(runName(), m_prediction);
    m_name->setProblem(nameProblem(runName()));
    m_takeSettings->setEnabled(resumed);
    showFields(now, facts);
    showNotes(now, facts);
    showSummaries(now);
    showPrediction();
    const QString reason = whyNotStart(facts);
    m_reason->setText(reason);
    m_start->setEnabled(reason.isEmpty());
    m_start->setToolTip(reason);
    m_tune->setEnabled(reason.isEmpty());
    m_tune->setToolTip(reason.isEmpty() ? tr("Look for faster settings by short runs") : reason);
}

/// What does not apply cannot be chosen, and says why; what is wrong says what to do.
void NewRunPage::showFields(const RunConfig& config, const SourceFacts* facts) {
    const auto problems = fieldProblems(facts);
    const auto& wrong = m_prediction.wrongFields;
    for (FoldSection* section : m_sections) {
        for (BoundField* each : section->fields()) {
            const auto found = problems.find(std::string(each->key()));
            const QString sentence = found != problems.end() ? found->second : QString();
            const bool named = std::find(wrong.begin(), wrong.end(), each->key()) != wrong.end();
            each->setWhyNot(optionText(run::whyNot(config, each->key())));
            each->setProblem(sentence, named || !sentence.isEmpty());
            if (!sentence.isEmpty()) section->setOpen(true);
        }
    }
}

void NewRunPage::showNotes(const RunConfig& config, const SourceFacts* facts) {
    field("model.name")->setNote(m_prediction.parameters);
    field("batch")->setNote(m_prediction.tokensPerStep);
    for (BoundField* each : m_fields)
        if (const QString note = choiceNote(each->option(), config); !note.isEmpty())
            each->setNote(note);
    const QString cores =
        m_machine.cores == 1 ? tr("of 1 core") : tr("on %1 cores").arg(m_machine.cores);
    field("ranks")->setNote(config.hosts.empty() ? cores : tr("on the hosts below"));
    field("output")->setNote(helpOf(field("output")->option()));
    const bool cuda = config.device == run::Device::kCuda;
    const QString gpus = config.shareDevice ? tr("shared by ranks") : tr("one per rank");
    field("device")->setNote(cuda ? gpus : QString());
    // Automatic says what it comes to.
    if (config.deviceCapture == run::DeviceCapture::kAuto) {
        RunConfig chosen = config;
        chosen.deviceCapture = run::effectiveDeviceCapture(config);
        const BoundField* level = field("device_capture");
        field("device_capture")
            ->setNote(tr("%1: %2").arg(QString::fromLatin1(toWord(chosen.deviceCapture)),
                                       choiceNote(level->option(), chosen)));
    }
    if (facts == nullptr) return;
    for (const auto& [key, note] : facts->notes) field(key)->setNote(note);
}

void NewRunPage::showSummaries(const RunConfig& config) {
    for (FoldSection* section : m_sections) {
        QStringList set, all;
        for (const BoundField* each : section->fields()) {
            all << nameOf(each->option());
            if (!each->isUsual(config)) set << each->summary(config);
        }
        section->setSummary(set.isEmpty() ? all.join(u", "_s) : set.join(u" · "_s));
    }
}

/// Without one, the picture stays and says that it is of before.
void NewRunPage::showPrediction() {
    const bool whole = m_prediction.problem.isEmpty();
    m_headline->setText(m_prediction.headline);
    m_memoryTitle->setText(whole ? tr("Predicted memory per rank")
                                 : tr("Predicted memory per rank, before the last change"));
    for (QWidget* part : {static_cast<QWidget*>(m_memory), static_cast<QWidget*>(m_legend),
                          static_cast<QWidget*>(m_traffic)})
        part->setEnabled(whole);
    if (whole) {
        m_memory->setBars(m_prediction.memory);
        m_legend->setEntries(m_prediction.legend);
        m_traffic->setRows(m_prediction.traffic);
    }
    m_warning->setText(m_prediction.warning);
    m_command->setText(wrappedCommand(m_prediction.commandLine));
}

/// Where it is recorded stays as the form has it.
void NewRunPage::tune() {
    auto* dialog = new TuneDialog(config(), findRecorder(), m_outputFolder, this);
    connect(dialog, &TuneDialog::taken, this, [this](const RunConfig& best) {
        RunConfig chosen = best;
        chosen.output = m_outputEdited ? config().output : std::string();
        setConfig(chosen);
    });
    dialog->open();
}

void NewRunPage::saveRunFile() {
    auto* dialog = new QFileDialog(this, tr("Save as run file"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(u"toml"_s);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        const auto written = writeText(
            path, QByteArray::fromStdString(run::toToml(config(), {runName().toStdString(), {}})));
        const QString allow =
            run::commandsOf(config()).empty() ? QString() : u" --allow-commands"_s;
        m_warning->setText(written
                               ? tr("Saved. Run it with: shardscope record%2 %1").arg(path, allow)
                               : QString::fromStdString(written.error().message));
    });
    dialog->open();
}

}  // namespace shardscope::desktop
