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
#include <QCheckBox>
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
    for (QComboBox* box :
         {m_preset, m_strategy, m_precision, m_capture, m_device, m_reduce, m_deviceCapture}) {
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(6);
    }
    const RunConfig standard;
    setConfig(standard);
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
    RunConfig config = m_base;  // and what has no field here
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
    config.device = static_cast<control::Device>(m_device->currentData().toInt());
    // What cannot be chosen is as it is by itself.
    const FieldReasons reasons = fieldReasons(config);
    config.shareDevice = reasons.shareDevice.isEmpty() && m_share->isChecked();
    config.shardRanks = reasons.shardRanks.isEmpty() ? m_shardRanks->value() : 0;
    if (reasons.bucket.isEmpty()) config.bucketMegabytes = m_bucket->value();
    config.recomputeEvery = m_recompute->value();
    if (!reasons.prefetch.isEmpty()) {
        config.reshardAfterForward = true;
        config.keepGathered = config.keepGradients = false;
    }
    if (!control::isDdp(config.strategy)) config.compression = control::Compression::kNone;
    config.reduceIn = control::GradientType::kFloat32;
    if (reasons.reduceIn.isEmpty())
        config.reduceIn = static_cast<control::GradientType>(m_reduce->currentData().toInt());
    config.deviceCapture = control::DeviceCapture::kAuto;
    if (reasons.deviceCapture.isEmpty()) {
        config.deviceCapture =
            static_cast<control::DeviceCapture>(m_deviceCapture->currentData().toInt());
    }
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
    m_base = config;
    const int preset = m_preset->findText(fromUtf8(config.model.name));
    m_preset->setCurrentIndex(preset >= 0 ? preset : m_preset->count() - 1);
    m_vocabulary->setValue(static_cast<int>(config.model.vocabulary));
    m_context->setValue(static_cast<int>(config.model.context));
    m_layers->setValue(static_cast<int>(config.model.layers));
    m_heads->setValue(static_cast<int>(config.model.heads));
    m_hidden->setValue(static_cast<int>(config.model.hidden));
    m_strategy->setCurrentIndex(m_strategy->findData(static_cast<int>(config.strategy)));
    m_ranks->setValue(config.ranks);
    m_recompute->setValue(config.recomputeEvery);
    m_bucket->setValue(config.bucketMegabytes);
    m_shardRanks->setValue(config.shardRanks > 0 ? config.shardRanks : config.ranks);
    m_threads->setValue(config.threads);
    m_precision->setCurrentIndex(m_precision->findData(static_cast<int>(config.precision)));
    m_device->setCurrentIndex(m_device->findData(static_cast<int>(config.device)));
    m_share->setChecked(config.shareDevice);
    m_reduce->setCurrentIndex(m_reduce->findData(static_cast<int>(config.reduceIn)));
    m_deviceCapture->setCurrentIndex(
        m_deviceCapture->findData(static_cast<int>(config.deviceCapture)));
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

/// What does not apply cannot be chosen, and says why.
void NewRunPage::enableFields() {
    const RunConfig chosen = config();
    const FieldReasons reasons = fieldReasons(chosen);
    m_share->setEnabled(reasons.shareDevice.isEmpty());
    m_share->setToolTip(reasons.shareDevice);
    m_reduce->setEnabled(reasons.reduceIn.isEmpty());
    m_reduce->setToolTip(reasons.reduceIn);
    m_reduceNote->setText(reasons.reduceIn.isEmpty() ? tr("sums over ranks") : reasons.reduceIn);
    m_strategyNote->setText(strategyNote(chosen.strategy));
    const auto allow = [](QWidget* field, QLabel* note, const QString& reason,
                          const QString& words) {
        field->setEnabled(reason.isEmpty());
        field->setToolTip(reason);
        note->setText(reason.isEmpty() ? words : reason);
    };
    allow(m_prefetch, m_prefetchNote, reasons.prefetch, tr("blocks gathered ahead"));
    allow(m_bucket, m_bucketNote, reasons.bucket, tr("megabytes of gradients"));
    allow(m_shardRanks, m_shardRanksNote, reasons.shardRanks, tr("share one copy of the state"));
    m_deviceCapture->setEnabled(reasons.deviceCapture.isEmpty());
    m_deviceCapture->setToolTip(reasons.deviceCapture);
    m_deviceCaptureNote->setText(!reasons.deviceCapture.isEmpty()
                                     ? reasons.deviceCapture
                                     : tr("traces %1")
                                           .arg(QString::fromLatin1(control::toWord(
                                               control::effectiveDeviceCapture(chosen)))));
    const bool noTf32 =
        chosen.precision == control::Precision::kTf32 && chosen.device != control::Device::kCuda;
    markInvalid(m_precision, noTf32);
}

void NewRunPage::refresh() {
    if (m_filling) return;
    enableFields();
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
