#include "app/desktop/pages/newrun/program_tab.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/newrun/run_form.h"
#include "app/desktop/pages/run_fields/bound_field.h"
#include "app/desktop/pages/run_fields/fold_section.h"
#include "app/desktop/pages/run_fields/run_option_texts.h"
#include "app/desktop/widgets/panel.h"
#include "app/desktop/widgets/plain_area.h"
#include "app/desktop/widgets/splitter.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"
#include "engine/run/config/run_option.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QDir>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QShortcut>
#include <QStyle>
#include <QVBoxLayout>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// A text of several lines, in which Tab leads to the next field.
QPlainTextEdit* linesInput(int lines, QWidget* parent) {
    auto* edit = new QPlainTextEdit(parent);
    edit->setFont(codeFont(kSmallPixels));
    edit->setTabChangesFocus(true);
    edit->setFixedHeight(edit->fontMetrics().lineSpacing() * lines + 20);
    return edit;
}

}  // namespace

NamedInput::NamedInput(const char* key, const QString& name, const QString& help, QWidget* input,
                       QWidget* parent)
    : QWidget(parent),
      m_key(key),
      m_input(input),
      m_row(new QHBoxLayout),
      m_below(quietLabel({}, this)) {
    input->setParent(this);
    input->setObjectName(QString::fromLatin1(key));
    input->setAccessibleName(name);
    input->setAccessibleDescription(help);
    input->setToolTip(help);
    auto* label = quietLabel(name, this);
    label->setBuddy(input);
    m_row->setSpacing(kGapSmall);
    m_row->addWidget(input);
    m_below->setFont(textFont(kSmallPixels - 1));
    m_below->setMinimumHeight(16);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(2);
    layout->addWidget(label);
    layout->addLayout(m_row);
    layout->addWidget(m_below);
    layout->addStretch();
}

void NamedInput::setNote(const QString& note) {
    m_note = note;
    showBelow();
}

void NamedInput::setProblem(const QString& sentence) {
    m_problem = sentence;
    showBelow();
    const bool wrong = !sentence.isEmpty();
    if (m_input->property("invalid").toBool() == wrong) return;
    m_input->setProperty("invalid", wrong);
    m_input->style()->unpolish(m_input);
    m_input->style()->polish(m_input);
}

QString NamedInput::below() const {
    return m_problem.isEmpty() ? m_note : m_problem;
}

void NamedInput::showBelow() {
    m_below->setText(below());
    m_below->setForegroundRole(m_problem.isEmpty() ? QPalette::PlaceholderText
                                                   : QPalette::BrightText);
}

QPushButton* NamedInput::addButton(const QString& name, const QString& accessibleName) {
    auto* button = new QPushButton(name, this);
    button->setAccessibleName(accessibleName);
    m_row->addWidget(button);
    return button;
}

ProgramTab::ProgramTab(const QString& recordingsFolder, const QString& settingsFile,
                       QWidget* parent)
    : QWidget(parent),
      m_outputFolder(recordingsFolder),
      m_settingsFile(settingsFile),
      m_earlier(programHistory(settingsFile)) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(12);
    layout->addWidget(
        quietLabel(tr("Records a program as it is: a PyTorch script, torchrun, a shell script. "
                      "Nothing in it has to be changed."),
                   this));
    auto* columns = new Splitter(Qt::Horizontal, u"newrun.program"_s,
                                 tr("Divider between the fields and earlier commands"), this);
    columns->addWidget(scrollingColumn(buildForm(), this));
    columns->addWidget(scrollingColumn(buildSide(), this));
    columns->setHandleWidth(kGap);
    columns->setPreferredShares({11, 8});
    layout->addWidget(columns, 1);
    layout->addWidget(hairline(this));
    layout->addLayout(buildActions());
    m_filling = false;
    showHistory();
    refresh();
}

QWidget* ProgramTab::buildForm() {
    auto* form = new QWidget(this);
    auto* layout = new QVBoxLayout(form);
    layout->setContentsMargins(0, 0, kGap, 0);
    layout->setSpacing(kGap);
    auto* program = new FoldSection(tr("Program"), true, form);
    m_command = linesInput(4, form);
    m_command->setPlaceholderText(u"torchrun --nproc-per-node 2 train.py --steps 100"_s);
    addInput(program,
             new NamedInput(program_keys::kCommand, tr("Command"),
                            tr("Program and arguments, with quotes and backslashes as in a shell; "
                               "none is started, so nothing is expanded."),
                            m_command, program));
    m_folder = new QLineEdit(QDir::currentPath(), form);
    auto* folder = new NamedInput(program_keys::kFolder, tr("Working folder"),
                                  tr("The folder that the program works in."), m_folder, program);
    connect(folder->addButton(tr("Folder…"), tr("Choose the working folder")),
            &QPushButton::clicked, this, &ProgramTab::chooseFolder);
    addInput(program, folder);
    m_environment = linesInput(3, form);
    m_environment->setPlaceholderText(u"OMP_NUM_THREADS=1"_s);
    addInput(program, new NamedInput(program_keys::kEnvironment, tr("Environment"),
                                     tr("Variables that the program gets besides those of this "
                                        "window: NAME=VALUE, one per line."),
                                     m_environment, program));
    auto* recording = new FoldSection(tr("Recording"), true, form);
    addOption(recording, "capture", 2);
    m_name = new QLineEdit(form);
    addInput(recording, new NamedInput(program_keys::kName, tr("Name"),
                                       tr("What you call the run; its recording is shown by this "
                                          "name. May be empty."),
                                       m_name, recording));
    addOption(recording, "output", FoldSection::kColumns);
    m_rare = new FoldSection(tr("Steps and limits"), false, form);
    for (const char* key : {"capture_steps", "capture_every", "capture_slow", "max_size"})
        addOption(m_rare, key, 1);
    m_stepRange = new QLineEdit(form);
    addInput(m_rare, new NamedInput(program_keys::kStepRange, tr("Step range"),
                                    tr("Regular expression: ranges (record_function) whose name "
                                       "matches are steps."),
                                    m_stepRange, m_rare));
    m_stacks = new QCheckBox(tr("of every operator"), form);
    addInput(m_rare, new NamedInput(program_keys::kStacks, tr("Python stacks"),
                                    tr("The Python functions that ask for an operator, for flame "
                                       "graphs; at level full, about 0.5 us more for each."),
                                    m_stacks, m_rare));
    connect(m_stacks, &QCheckBox::toggled, this, &ProgramTab::refresh);
    for (FoldSection* section : {program, recording, m_rare}) layout->addWidget(section);
    layout->addStretch();
    for (QPlainTextEdit* edit : {m_command, m_environment})
        connect(edit, &QPlainTextEdit::textChanged, this, &ProgramTab::refresh);
    for (QLineEdit* edit : {m_folder, m_stepRange, m_name})
        connect(edit, &QLineEdit::textChanged, this, &ProgramTab::refresh);
    connect(qobject_cast<QLineEdit*>(field("output")->input()), &QLineEdit::textEdited, this,
            [this] {
                m_outputEdited = true;
                refresh();
            });
    return form;
}

void ProgramTab::addInput(FoldSection* section, NamedInput* input) {
    section->add(input, FoldSection::kColumns);
    m_inputs.push_back(input);
}

void ProgramTab::addOption(FoldSection* section, const char* key, int span) {
    auto* field = new BoundField(*run::findRunOption(key), section);
    field->input()->setObjectName(u"program."_s + QString::fromLatin1(key));
    field->fill(run::RunConfig());
    section->addField(field, span);
    m_fields.push_back(field);
    connect(field, &BoundField::changed, this, &ProgramTab::refresh);
}

QWidget* ProgramTab::buildSide() {
    auto* around = new QWidget(this);
    auto* outer = new QVBoxLayout(around);
    outer->setContentsMargins(0, 0, 4, 0);
    auto* panel = new Panel(around);
    outer->addWidget(panel);
    outer->addStretch();
    auto* layout = new QVBoxLayout(panel);
    layout->setContentsMargins(kGapGroup, kGapGroup, kGapGroup, kGapGroup);
    layout->setSpacing(kGap);
    m_line = codeLabel({}, panel);
    m_line->setAccessibleName(tr("The same on the command line"));
    layout->addWidget(sectionLabel(tr("The same on the command line"), panel));
    layout->addWidget(m_line);
    layout->addSpacing(kGap);
    layout->addWidget(sectionLabel(tr("Earlier commands"), panel));
    m_noHistory = quietLabel(tr("None yet. The last 20 commands that were started stand here; "
                                "their environment is not kept."),
                             panel);
    layout->addWidget(m_noHistory);
    m_history = new QListWidget(panel);
    m_history->setAccessibleName(tr("Earlier commands, the newest first"));
    m_history->setToolTip(tr("Enter fills the form, Delete removes the command from this list."));
    m_history->setTextElideMode(Qt::ElideMiddle);
    m_history->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_history->setMinimumHeight(160);
    layout->addWidget(m_history);
    m_use = new QPushButton(tr("Use this command"), panel);
    m_remove = new QPushButton(tr("Remove"), panel);
    m_remove->setAccessibleName(tr("Remove the command from this list"));
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(kGap);
    buttons->addWidget(m_use);
    buttons->addWidget(m_remove);
    buttons->addStretch();
    layout->addLayout(buttons);
    connect(m_history, &QListWidget::itemActivated, this,
            [this] { useEarlier(m_history->currentRow()); });
    connect(m_history, &QListWidget::currentRowChanged, this, [this](int row) {
        m_use->setEnabled(row >= 0);
        m_remove->setEnabled(row >= 0);
    });
    auto* removing = new QShortcut(QKeySequence::Delete, m_history);
    removing->setContext(Qt::WidgetShortcut);
    connect(removing, &QShortcut::activated, this, &ProgramTab::removeEarlier);
    connect(m_use, &QPushButton::clicked, this, [this] { useEarlier(m_history->currentRow()); });
    connect(m_remove, &QPushButton::clicked, this, &ProgramTab::removeEarlier);
    return around;
}

QLayout* ProgramTab::buildActions() {
    m_reason = quietLabel({}, this);
    m_reason->setForegroundRole(QPalette::BrightText);
    m_reason->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_reason->setAccessibleName(tr("Why the program cannot start"));
    auto* copy = new QPushButton(tr("Copy command line"), this);
    connect(copy, &QPushButton::clicked, this,
            [this] { QApplication::clipboard()->setText(m_plan.commandLine); });
    m_start = new QPushButton(tr("Start program"), this);
    m_start->setProperty("primary", true);
    connect(m_start, &QPushButton::clicked, this, &ProgramTab::start);
    auto* actions = new QHBoxLayout;
    actions->setContentsMargins(0, 0, 14, 0);
    actions->setSpacing(kGap);
    actions->addWidget(m_reason, 1);
    actions->addWidget(copy);
    actions->addWidget(m_start);
    return actions;
}

NamedInput* ProgramTab::named(std::string_view key) const {
    const auto found = std::find_if(m_inputs.begin(), m_inputs.end(),
                                    [&](const NamedInput* each) { return each->key() == key; });
    return found != m_inputs.end() ? *found : nullptr;
}

BoundField* ProgramTab::field(std::string_view key) const {
    const auto found = std::find_if(m_fields.begin(), m_fields.end(),
                                    [&](const BoundField* each) { return each->key() == key; });
    return found != m_fields.end() ? *found : nullptr;
}

ProgramSettings ProgramTab::settings() const {
    ProgramSettings settings{m_command->toPlainText(),
                             m_folder->text().trimmed(),
                             m_environment->toPlainText(),
                             m_stepRange->text().trimmed(),
                             {},
                             m_name->text().trimmed(),
                             m_stacks->isChecked()};
    for (const BoundField* each : m_fields) each->apply(settings.recording);
    return settings;
}

QString ProgramTab::reason() const {
    return m_reason->text();
}

void ProgramTab::setBusy(bool busy) {
    m_busy = busy;
    refresh();
}

void ProgramTab::setMoment(const QString& moment) {
    m_moment = moment;
    refresh();
}

void ProgramTab::setCommand(const QString& command) {
    m_command->setPlainText(command);
}

void ProgramTab::chooseFolder() {
    auto* dialog = new QFileDialog(this, tr("Choose the working folder"), m_folder->text());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::Directory);
    dialog->setOption(QFileDialog::ShowDirsOnly);
    connect(dialog, &QFileDialog::fileSelected, m_folder, &QLineEdit::setText);
    dialog->open();
}

void ProgramTab::suggestOutput() {
    if (m_outputEdited) return;
    m_filling = true;
    qobject_cast<QLineEdit*>(field("output")->input())
        ->setText(QDir(m_outputFolder).filePath(suggestedProgramRecording(m_plan, m_moment)));
    m_filling = false;
}

void ProgramTab::refresh() {
    if (m_filling) return;
    m_plan = planProgram(settings());
    suggestOutput();
    const ProgramSettings now = settings();
    m_plan = planProgram(now);
    field("capture")->setNote(captureNoteOfProgram(now.recording.capture));
    field("output")->setNote(helpOf(field("output")->option()));
    showProblems();
    m_line->setText(wrappedCommand(m_plan.commandLine));
    QString reason = m_plan.reason;
    if (reason.isEmpty() && m_busy)
        reason = tr("A run is going; stop it on the Live page or wait for its end.");
    m_reason->setText(reason);
    m_start->setEnabled(reason.isEmpty());
    m_start->setToolTip(reason);
}

void ProgramTab::showProblems() {
    const auto sentenceOf = [this](const std::string& key) {
        const auto found = m_plan.problems.find(key);
        return found != m_plan.problems.end() ? found->second : QString();
    };
    for (NamedInput* each : m_inputs) each->setProblem(sentenceOf(each->key()));
    for (BoundField* each : m_fields) {
        const QString sentence = sentenceOf(std::string(each->key()));
        each->setProblem(sentence, !sentence.isEmpty());
    }
    QStringList set, all;
    const run::RunConfig config = settings().recording;
    for (const BoundField* each : m_rare->fields()) {
        all << nameOf(each->option());
        if (!each->isUsual(config)) set << each->summary(config);
        if (!each->problem().isEmpty()) m_rare->setOpen(true);
    }
    for (const char* key : {program_keys::kStepRange, program_keys::kStacks})
        if (m_plan.problems.contains(key)) m_rare->setOpen(true);
    all << tr("Step range") << tr("Python stacks");
    if (!m_stepRange->text().isEmpty()) set << tr("Step range %1").arg(m_stepRange->text());
    if (m_stacks->isChecked()) set << tr("Python stacks");
    m_rare->setSummary(set.isEmpty() ? all.join(u", "_s) : set.join(u" · "_s));
}

void ProgramTab::showHistory() {
    m_history->clear();
    for (const EarlierProgram& each : m_earlier) {
        auto* item = new QListWidgetItem(each.command.simplified(), m_history);
        item->setToolTip(tr("%1\nin %2, capture %3").arg(each.command, each.folder, each.capture));
    }
    const bool any = !m_earlier.empty();
    m_noHistory->setVisible(!any);
    for (QWidget* part : {static_cast<QWidget*>(m_history), static_cast<QWidget*>(m_use),
                          static_cast<QWidget*>(m_remove)})
        part->setVisible(any);
    if (any) m_history->setCurrentRow(0);
}

void ProgramTab::useEarlier(int row) {
    if (row < 0 || row >= static_cast<int>(m_earlier.size())) return;
    const EarlierProgram earlier = m_earlier[static_cast<std::size_t>(row)];
    m_folder->setText(earlier.folder);
    m_stepRange->setText(earlier.stepRange);
    run::RunConfig config = settings().recording;
    if (const auto level = fromWord<CaptureLevel>(earlier.capture.toStdString()))
        config.capture = *level;
    field("capture")->fill(config);
    setCommand(earlier.command);
    refresh();
    m_command->setFocus();
}

void ProgramTab::removeEarlier() {
    const int row = m_history->currentRow();
    if (row < 0) return;
    m_earlier.erase(m_earlier.begin() + row);
    keepProgramHistory(m_settingsFile, m_earlier);
    showHistory();
    m_history->setCurrentRow(std::min(row, m_history->count() - 1));
}

void ProgramTab::start() {
    const ProgramSettings now = settings();
    const QStringList arguments = m_plan.arguments;
    m_earlier = withNewest(std::move(m_earlier),
                           {now.command.trimmed(), now.folder,
                            QString::fromLatin1(toWord(now.recording.capture)), now.stepRange});
    keepProgramHistory(m_settingsFile, m_earlier);
    showHistory();
    m_outputEdited = false;
    Q_EMIT startRequested(now.recording, arguments);
}

}  // namespace shardscope::desktop
