#include "app/desktop/views/newrun/new_run_page.h"

#include "app/desktop/models/format.h"
#include "app/desktop/widgets/detail_list.h"
#include "app/desktop/widgets/legend.h"
#include "app/desktop/widgets/painting.h"
#include "app/desktop/widgets/panel.h"
#include "app/desktop/widgets/scrolling.h"
#include "app/desktop/widgets/stacked_bars.h"
#include "app/desktop/widgets/states.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDateTime>
#include <QDir>
#include <QDoubleSpinBox>
#include <QFile>
#include <QFileDialog>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSpinBox>
#include <QStyle>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using control::RunConfig;

constexpr int kColumns = 3;

void markInvalid(QWidget* widget, bool invalid) {
    if (widget->property("invalid").toBool() == invalid) return;
    widget->setProperty("invalid", invalid);
    widget->style()->unpolish(widget);
    widget->style()->polish(widget);
}

}  // namespace

NewRunPage::NewRunPage(const QString& outputFolder, QWidget* parent)
    : QWidget(parent),
      m_outputFolder(outputFolder),
      m_moment(QDateTime::currentDateTime().toString(u"yyyyMMdd-HHmm"_s)),
      m_machine(thisMachine()) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(kGapPage, 20, kGapPage - 14, kGapGroup);
    layout->setSpacing(kGapGroup);
    auto* words = new QVBoxLayout;
    words->setSpacing(kGapSmall);
    words->addWidget(headlineLabel(tr("New run"), this));
    m_headline = quietLabel({}, this);
    m_headline->setFont(textFont(kTextPixels));
    words->addWidget(m_headline);
    layout->addLayout(words);
    auto* scroll = new QScrollArea(this);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
    hideIdleHandle(scroll->verticalScrollBar());
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->viewport()->setAutoFillBackground(false);
    auto* content = new QWidget(scroll);
    auto* columns = new QHBoxLayout(content);
    columns->setContentsMargins(0, 0, 4, 0);
    columns->setSpacing(kGapPage);
    columns->addWidget(buildForm(content), 11, Qt::AlignTop);
    columns->addWidget(buildPrediction(content), 8, Qt::AlignTop);
    scroll->setWidget(content);
    content->setAutoFillBackground(false);
    layout->addWidget(scroll, 1);
    for (QComboBox* box : {m_preset, m_strategy, m_precision, m_capture}) {
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(6);
    }
    setConfig(RunConfig{});
}

void NewRunPage::addSection(const QString& title) {
    if (m_row > 0) m_grid->setRowMinimumHeight(m_row++, kGap);
    m_grid->addWidget(sectionLabel(title, this), m_row++, 0, 1, kColumns);
}

QLabel* NewRunPage::addField(int column, const QString& label, QWidget* field,
                             const QString& note) {
    auto* cell = new QWidget(this);
    auto* layout = new QVBoxLayout(cell);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(2);
    auto* name = quietLabel(label, cell);
    name->setWordWrap(false);
    name->setBuddy(field);
    layout->addWidget(name);
    layout->addWidget(field);
    auto* below = quietLabel(note, cell);
    below->setFont(textFont(kSmallPixels - 1));
    below->setMinimumHeight(16);
    layout->addWidget(below);
    if (field->accessibleName().isEmpty()) field->setAccessibleName(label);
    m_grid->addWidget(cell, m_row, column, Qt::AlignTop);
    if (column == kColumns - 1) ++m_row;
    return below;
}

QSpinBox* NewRunPage::number(int low, int high, const QString& suffix, const QString& name) {
    auto* box = new QSpinBox(this);
    box->setRange(low, high);
    box->setButtonSymbols(QAbstractSpinBox::NoButtons);
    box->setGroupSeparatorShown(true);
    if (!suffix.isEmpty()) box->setSuffix(u" "_s + suffix);
    box->setAccessibleName(name);
    connect(box, &QSpinBox::valueChanged, this, &NewRunPage::refresh);
    return box;
}

QDoubleSpinBox* NewRunPage::decimal(double low, double high, int decimals, const QString& name) {
    auto* box = new QDoubleSpinBox(this);
    box->setDecimals(decimals);
    box->setRange(low, high);
    box->setSingleStep(std::pow(10.0, -decimals + 1));
    box->setButtonSymbols(QAbstractSpinBox::NoButtons);
    box->setAccessibleName(name);
    connect(box, &QDoubleSpinBox::valueChanged, this, &NewRunPage::refresh);
    return box;
}

QWidget* NewRunPage::dataField() {
    auto* field = new QWidget(this);
    auto* layout = new QHBoxLayout(field);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGapSmall);
    m_data = new QLineEdit(field);
    m_data->setPlaceholderText(tr("the project's own source tree"));
    m_data->setAccessibleName(tr("Data: text file or folder"));
    connect(m_data, &QLineEdit::textChanged, this, &NewRunPage::refresh);
    auto* file = new QPushButton(tr("File…"), field);
    file->setAccessibleName(tr("Choose a text file"));
    connect(file, &QPushButton::clicked, this, [this] { chooseData(false); });
    auto* folder = new QPushButton(tr("Folder…"), field);
    folder->setAccessibleName(tr("Choose a folder of text files"));
    connect(folder, &QPushButton::clicked, this, [this] { chooseData(true); });
    layout->addWidget(m_data, 1);
    layout->addWidget(file);
    layout->addWidget(folder);
    return field;
}

QWidget* NewRunPage::buildForm(QWidget* parent) {
    auto* form = new QWidget(parent);
    m_grid = new QGridLayout(form);
    m_grid->setContentsMargins(0, 0, 0, 0);
    m_grid->setHorizontalSpacing(12);
    m_grid->setVerticalSpacing(kGapSmall);
    for (int column = 0; column < kColumns; ++column) m_grid->setColumnStretch(column, 1);

    addSection(tr("Model"));
    m_preset = new QComboBox(form);
    for (const auto& model : control::modelPresets()) m_preset->addItem(fromUtf8(model.name));
    m_preset->addItem(tr("custom"));
    connect(m_preset, &QComboBox::activated, this, &NewRunPage::choosePreset);
    m_parameters = addField(0, tr("Size"), m_preset);
    m_layers = number(1, 999, {}, tr("Layers"));
    addField(1, tr("Layers"), m_layers, tr("transformer blocks"));
    m_heads = number(1, 999, {}, tr("Heads"));
    addField(2, tr("Heads"), m_heads);
    m_hidden = number(1, 99999, {}, tr("Hidden size"));
    addField(0, tr("Hidden"), m_hidden, tr("divisible by heads"));
    m_context = number(1, 99999, {}, tr("Context"));
    addField(1, tr("Context"), m_context, tr("tokens"));
    m_vocabulary = number(1, 999999, {}, tr("Vocabulary"));
    addField(2, tr("Vocabulary"), m_vocabulary, tr("256: bytes"));

    addSection(tr("Strategy"));
    m_strategy = new QComboBox(form);
    m_strategy->addItem(tr("ZeRO-3"), static_cast<int>(control::Strategy::kZero3));
    m_strategy->addItem(tr("single"), static_cast<int>(control::Strategy::kSingle));
    connect(m_strategy, &QComboBox::currentIndexChanged, this, &NewRunPage::refresh);
    addField(0, tr("Strategy"), m_strategy, tr("ZeRO-3 shards all states"));
    m_ranks = number(1, 64, {}, tr("Ranks"));
    addField(1, tr("Ranks"), m_ranks,
             m_machine.cores == 1 ? tr("of 1 core") : tr("of %1 cores").arg(m_machine.cores));
    m_threads = number(1, 256, {}, tr("Threads a rank"));
    addField(2, tr("Threads a rank"), m_threads);
    m_prefetch = number(0, 64, {}, tr("Prefetch"));
    addField(0, tr("Prefetch"), m_prefetch, tr("blocks gathered ahead"));
    m_precision = new QComboBox(form);
    m_precision->addItem(tr("fp32"), static_cast<int>(control::Precision::kFloat32));
    addField(1, tr("Precision"), m_precision);
    m_batch = number(1, 99999, {}, tr("Micro-batch a rank"));
    m_tokens = addField(2, tr("Micro-batch a rank"), m_batch);

    addSection(tr("Data and steps"));
    auto* cell = new QWidget(form);
    auto* cellLayout = new QVBoxLayout(cell);
    cellLayout->setContentsMargins(0, 0, 0, 0);
    cellLayout->setSpacing(2);
    cellLayout->addWidget(quietLabel(tr("Data: a text file or a folder of them"), cell));
    cellLayout->addWidget(dataField());
    m_dataNote = quietLabel({}, cell);
    m_dataNote->setFont(textFont(kSmallPixels - 1));
    cellLayout->addWidget(m_dataNote);
    m_grid->addWidget(cell, m_row, 0, 1, 2, Qt::AlignTop);
    m_heldBack = decimal(0, 0.9, 2, tr("Held back for validation"));
    addField(2, tr("Held back"), m_heldBack, tr("share kept for validation"));
    m_steps = number(1, 9999999, {}, tr("Steps"));
    addField(0, tr("Steps"), m_steps);
    m_accumulate = number(1, 9999, {}, tr("Accumulate"));
    addField(1, tr("Accumulate"), m_accumulate, tr("micro-steps a step"));
    m_evaluate = number(0, 999999, {}, tr("Evaluate every"));
    addField(2, tr("Evaluate every"), m_evaluate, tr("steps; 0: never"));
    m_learningRate = decimal(0, 10, 6, tr("Learning rate"));
    addField(0, tr("Learning rate"), m_learningRate, tr("warm-up, then cosine"));
    m_warmup = number(0, 999999, {}, tr("Warm-up"));
    addField(1, tr("Warm-up"), m_warmup, tr("steps"));
    m_weightDecay = decimal(0, 10, 3, tr("Weight decay"));
    addField(2, tr("Weight decay"), m_weightDecay, tr("matrices and embeddings"));
    m_clip = decimal(0, 1000, 2, tr("Clip gradient norm"));
    addField(0, tr("Clip gradient norm"), m_clip, tr("0: never"));
    m_seed = number(0, 2147483647, {}, tr("Seed"));
    m_seed->setGroupSeparatorShown(false);
    addField(1, tr("Seed"), m_seed);
    m_capture = new QComboBox(form);
    m_capture->addItem(tr("full: operators, memory"),
                       static_cast<int>(control::CaptureLevel::kFull));
    m_capture->addItem(tr("light: phases, collectives"),
                       static_cast<int>(control::CaptureLevel::kLight));
    m_capture->addItem(tr("steps: steps, metrics"),
                       static_cast<int>(control::CaptureLevel::kSteps));
    m_capture->addItem(tr("off"), static_cast<int>(control::CaptureLevel::kOff));
    connect(m_capture, &QComboBox::currentIndexChanged, this, &NewRunPage::refresh);
    addField(2, tr("Capture"), m_capture);

    addSection(tr("Recording"));
    auto* outputCell = new QWidget(form);
    auto* outputLayout = new QVBoxLayout(outputCell);
    outputLayout->setContentsMargins(0, 0, 0, 0);
    outputLayout->setSpacing(2);
    m_output = new QLineEdit(outputCell);
    m_output->setAccessibleName(tr("Save the recording as"));
    connect(m_output, &QLineEdit::textChanged, this, &NewRunPage::refresh);
    connect(m_output, &QLineEdit::textEdited, this, [this] { m_outputEdited = true; });
    outputLayout->addWidget(quietLabel(tr("Save as"), outputCell));
    outputLayout->addWidget(m_output);
    m_outputNote = quietLabel({}, outputCell);
    m_outputNote->setFont(textFont(kSmallPixels - 1));
    outputLayout->addWidget(m_outputNote);
    m_grid->addWidget(outputCell, m_row++, 0, 1, kColumns);
    return form;
}

QWidget* NewRunPage::buildPrediction(QWidget* parent) {
    auto* panel = new Panel(parent);
    auto* layout = new QVBoxLayout(panel);
    layout->setContentsMargins(kGapGroup, kGapGroup, kGapGroup, kGapGroup);
    layout->setSpacing(kGap);
    m_warning = new Banner(panel);
    m_memory = new StackedBars(panel);
    m_memory->setLabelWidth(88);
    m_legend = new Legend(panel);
    m_traffic = new DetailList(panel);
    m_command = codeLabel({}, panel);
    m_command->setAccessibleName(tr("The same run on the command line"));
    m_command->setTextFormat(Qt::PlainText);
    m_reason = quietLabel({}, panel);
    m_start = new QPushButton(tr("Start run"), panel);
    m_start->setProperty("primary", true);
    connect(m_start, &QPushButton::clicked, this, [this] { Q_EMIT startRequested(config()); });
    auto* save = new QPushButton(tr("Save as run file…"), panel);
    connect(save, &QPushButton::clicked, this, &NewRunPage::saveRunFile);
    auto* copy = new QPushButton(tr("Copy command"), panel);
    connect(copy, &QPushButton::clicked, this,
            [this] { QApplication::clipboard()->setText(m_prediction.commandLine); });
    layout->addWidget(sectionLabel(tr("Predicted memory a rank"), panel));
    layout->addWidget(m_memory);
    layout->addWidget(m_legend);
    layout->addSpacing(kGap);
    layout->addWidget(sectionLabel(tr("Predicted step"), panel));
    layout->addWidget(m_traffic);
    layout->addWidget(m_warning);
    layout->addSpacing(kGap);
    layout->addWidget(sectionLabel(tr("The same on the command line"), panel));
    layout->addWidget(m_command);
    layout->addSpacing(kGap);
    layout->addWidget(m_reason);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(kGap);
    buttons->addWidget(m_start);
    buttons->addWidget(save);
    buttons->addStretch();
    buttons->addWidget(copy);
    layout->addLayout(buttons);
    return panel;
}

RunConfig NewRunPage::config() const {
    RunConfig config;
    const auto& presets = control::modelPresets();
    const auto preset = static_cast<std::size_t>(std::max(0, m_preset->currentIndex()));
    config.model.name = preset < presets.size() ? presets[preset].name : std::string("custom");
    config.model.vocabulary = m_vocabulary->value();
    config.model.context = m_context->value();
    config.model.layers = m_layers->value();
    config.model.heads = m_heads->value();
    config.model.hidden = m_hidden->value();
    config.strategy = static_cast<control::Strategy>(m_strategy->currentData().toInt());
    config.ranks = m_ranks->value();
    config.threads = m_threads->value();
    config.precision = static_cast<control::Precision>(m_precision->currentData().toInt());
    config.data = m_data->text().trimmed().toStdString();
    config.heldBack = m_heldBack->value();
    config.steps = m_steps->value();
    config.batch = m_batch->value();
    config.accumulate = m_accumulate->value();
    config.evaluateEvery = m_evaluate->value();
    config.learningRate = m_learningRate->value();
    config.minimumLearningRate = std::min(config.minimumLearningRate, config.learningRate);
    config.warmupSteps = m_warmup->value();
    config.weightDecay = m_weightDecay->value();
    config.clip = m_clip->value();
    config.seed = static_cast<std::uint64_t>(m_seed->value());
    config.prefetch = m_prefetch->value();
    config.capture = static_cast<control::CaptureLevel>(m_capture->currentData().toInt());
    config.output = m_output->text().trimmed().toStdString();
    return config;
}

void NewRunPage::setConfig(const RunConfig& config) {
    m_filling = true;
    const int preset = m_preset->findText(fromUtf8(config.model.name));
    m_preset->setCurrentIndex(preset >= 0 ? preset : m_preset->count() - 1);
    m_vocabulary->setValue(static_cast<int>(config.model.vocabulary));
    m_context->setValue(static_cast<int>(config.model.context));
    m_layers->setValue(static_cast<int>(config.model.layers));
    m_heads->setValue(static_cast<int>(config.model.heads));
    m_hidden->setValue(static_cast<int>(config.model.hidden));
    m_strategy->setCurrentIndex(m_strategy->findData(static_cast<int>(config.strategy)));
    m_ranks->setValue(config.ranks);
    m_threads->setValue(config.threads);
    m_precision->setCurrentIndex(m_precision->findData(static_cast<int>(config.precision)));
    m_data->setText(fromUtf8(config.data));
    m_heldBack->setValue(config.heldBack);
    m_steps->setValue(config.steps);
    m_batch->setValue(config.batch);
    m_accumulate->setValue(config.accumulate);
    m_evaluate->setValue(config.evaluateEvery);
    m_learningRate->setValue(config.learningRate);
    m_warmup->setValue(config.warmupSteps);
    m_weightDecay->setValue(config.weightDecay);
    m_clip->setValue(config.clip);
    m_seed->setValue(static_cast<int>(config.seed));
    m_prefetch->setValue(config.prefetch);
    m_capture->setCurrentIndex(m_capture->findData(static_cast<int>(config.capture)));
    m_outputEdited = !config.output.empty();
    m_output->setText(fromUtf8(config.output));
    m_filling = false;
    refresh();
}

void NewRunPage::setBusy(bool busy) {
    m_busy = busy;
    m_moment = QDateTime::currentDateTime().toString(u"yyyyMMdd-HHmmss"_s);
    refresh();
}

void NewRunPage::choosePreset(int index) {
    const auto& presets = control::modelPresets();
    if (index < 0 || index >= static_cast<int>(presets.size())) {
        refresh();
        return;
    }
    RunConfig chosen = config();
    chosen.model = presets[static_cast<std::size_t>(index)];
    if (!m_outputEdited) chosen.output.clear();
    setConfig(chosen);
}

void NewRunPage::chooseData(bool folder) {
    auto* dialog = new QFileDialog(this, folder ? tr("Folder of text files") : tr("Text file"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(folder ? QFileDialog::Directory : QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, m_data, &QLineEdit::setText);
    dialog->open();
}

void NewRunPage::refresh() {
    if (m_filling) return;
    if (!m_outputEdited) {
        const QString name = suggestedRecordingName(config(), m_moment);
        m_filling = true;
        m_output->setText(QDir(m_outputFolder).filePath(name));
        m_filling = false;
    }
    m_prediction = predict(config(), m_machine);
    const DataCheck source = checkData(m_data->text().trimmed());
    m_dataNote->setText(source.text);
    markInvalid(m_data, !source.usable);
    const bool taken = QFile::exists(m_output->text());
    m_outputNote->setText(taken ? tr("A file of this name is already there; choose another.")
                                : tr("Everything the run does goes into this one file."));
    markInvalid(m_output, taken);
    QString problem = m_prediction.problem;
    if (problem.isEmpty() && !source.usable) problem = source.text;
    if (problem.isEmpty() && taken)
        problem = tr("The recording %1 is already there.").arg(m_output->text());
    if (problem.isEmpty() && m_busy)
        problem = tr("A run is going; stop it on the Live page or wait for its end.");
    m_headline->setText(m_prediction.headline);
    m_parameters->setText(m_prediction.parameters);
    m_tokens->setText(m_prediction.tokensPerStep);
    if (m_prediction.problem.isEmpty()) {
        m_memory->setBars(m_prediction.memory);
        m_legend->setEntries(m_prediction.legend);
        m_traffic->setRows(m_prediction.traffic);
    }
    markInvalid(m_hidden, m_hidden->value() % m_heads->value() != 0);
    markInvalid(m_heads, m_hidden->value() % m_heads->value() != 0);
    m_warning->setText(m_prediction.warning);
    m_command->setText(wrappedCommand(m_prediction.commandLine));
    m_reason->setText(problem);
    m_reason->setVisible(!problem.isEmpty());
    m_start->setEnabled(problem.isEmpty());
    m_start->setToolTip(problem);
}

void NewRunPage::saveRunFile() {
    auto* dialog = new QFileDialog(this, tr("Save as run file"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(u"toml"_s);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        QFile file(path);
        const std::string text = control::toToml(config());
        const bool written = file.open(QIODevice::WriteOnly) &&
                             file.write(text.data(), static_cast<qint64>(text.size())) ==
                                 static_cast<qint64>(text.size());
        m_warning->setText(written
                               ? tr("Saved. Run it with: shardscope record %1").arg(path)
                               : tr("%1 could not be written: %2.").arg(path, file.errorString()));
    });
    dialog->open();
}

}  // namespace shardscope::desktop
