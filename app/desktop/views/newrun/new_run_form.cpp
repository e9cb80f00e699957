// The fields of the New run form; new_run_page.cpp is what they do.
#include "app/desktop/models/format.h"
#include "app/desktop/views/newrun/new_run_page.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kColumns = 3;

}  // namespace

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

void NewRunPage::addModelFields() {
    addSection(tr("Model"));
    m_preset = new QComboBox(this);
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
}

QComboBox* NewRunPage::choice(const QString& name) {
    auto* box = new QComboBox(this);
    box->setAccessibleName(name);
    connect(box, &QComboBox::currentIndexChanged, this, &NewRunPage::refresh);
    return box;
}

void NewRunPage::addStrategyFields() {
    addSection(tr("Strategy"));
    m_strategy = choice(tr("Strategy"));
    for (const control::Strategy strategy : control::strategies())
        m_strategy->addItem(strategyName(strategy), static_cast<int>(strategy));
    m_strategyNote = addField(0, tr("Strategy"), m_strategy);
    m_ranks = number(1, 64, {}, tr("Ranks"));
    addField(1, tr("Ranks"), m_ranks,
             m_machine.cores == 1 ? tr("of 1 core") : tr("of %1 cores").arg(m_machine.cores));
    m_threads = number(1, 256, {}, tr("Threads a rank"));
    addField(2, tr("Threads a rank"), m_threads);
    m_prefetch = number(0, 64, {}, tr("Prefetch"));
    m_prefetchNote = addField(0, tr("Prefetch"), m_prefetch);
    m_batch = number(1, 99999, {}, tr("Micro-batch a rank"));
    m_tokens = addField(1, tr("Micro-batch a rank"), m_batch);
    m_accumulate = number(1, 9999, {}, tr("Accumulate"));
    addField(2, tr("Accumulate"), m_accumulate, tr("micro-steps a step"));
    m_recompute = number(0, 999, {}, tr("Recompute every"));
    addField(0, tr("Recompute every"), m_recompute, tr("blocks; 0: keep activations"));
    m_bucket = decimal(0.001, 99999, 3, tr("Bucket"));
    m_bucketNote = addField(1, tr("Bucket"), m_bucket);
    m_shardRanks = number(0, 64, {}, tr("Ranks of a group"));
    m_shardRanksNote = addField(2, tr("Ranks of a group"), m_shardRanks);
}

void NewRunPage::addDeviceFields() {
    addSection(tr("Device"));
    m_device = choice(tr("Device"));
    m_device->addItem(tr("CPU"), static_cast<int>(control::Device::kCpu));
    m_device->addItem(tr("CUDA GPU, one a rank"), static_cast<int>(control::Device::kCuda));
    auto* cell = new QWidget(this);
    auto* layout = new QVBoxLayout(cell);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(2);
    m_share = new QCheckBox(tr("let ranks share one"), cell);
    m_share->setFont(textFont(kSmallPixels));
    connect(m_share, &QCheckBox::toggled, this, &NewRunPage::refresh);
    auto* label = quietLabel(tr("Device"), cell);
    label->setBuddy(m_device);
    layout->addWidget(label);
    layout->addWidget(m_device);
    layout->addWidget(m_share);
    m_grid->addWidget(cell, m_row, 0, Qt::AlignTop);
    m_precision = choice(tr("Precision"));
    m_precision->addItem(tr("fp32"), static_cast<int>(control::Precision::kFloat32));
    m_precision->addItem(tr("tf32"), static_cast<int>(control::Precision::kTf32));
    m_precision->addItem(tr("bf16"), static_cast<int>(control::Precision::kBFloat16));
    m_precision->addItem(tr("fp16"), static_cast<int>(control::Precision::kFloat16));
    addField(1, tr("Precision"), m_precision, tr("of parameters and products"));
    m_reduce = choice(tr("Reduce gradients in"));
    m_reduce->addItem(tr("fp32"), static_cast<int>(control::GradientType::kFloat32));
    m_reduce->addItem(tr("bf16"), static_cast<int>(control::GradientType::kBFloat16));
    m_reduceNote = addField(2, tr("Reduce gradients in"), m_reduce);
}

void NewRunPage::addDataFields() {
    addSection(tr("Data and steps"));
    auto* cell = new QWidget(this);
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
}

void NewRunPage::addStepFields() {
    m_steps = number(1, 9999999, {}, tr("Steps"));
    addField(0, tr("Steps"), m_steps);
    m_evaluate = number(0, 999999, {}, tr("Evaluate every"));
    addField(1, tr("Evaluate every"), m_evaluate, tr("steps; 0: never"));
    m_learningRate = decimal(0, 10, 6, tr("Learning rate"));
    addField(2, tr("Learning rate"), m_learningRate, tr("warm-up, then cosine"));
    m_warmup = number(0, 999999, {}, tr("Warm-up"));
    addField(0, tr("Warm-up"), m_warmup, tr("steps"));
    m_weightDecay = decimal(0, 10, 3, tr("Weight decay"));
    addField(1, tr("Weight decay"), m_weightDecay, tr("matrices and embeddings"));
    m_clip = decimal(0, 1000, 2, tr("Clip gradient norm"));
    addField(2, tr("Clip gradient norm"), m_clip, tr("0: never"));
    m_seed = number(0, 2147483647, {}, tr("Seed"));
    m_seed->setGroupSeparatorShown(false);
    addField(0, tr("Seed"), m_seed);
    m_capture = choice(tr("Capture"));
    m_capture->addItem(tr("full: operators, memory"),
                       static_cast<int>(control::CaptureLevel::kFull));
    m_capture->addItem(tr("light: phases, collectives"),
                       static_cast<int>(control::CaptureLevel::kLight));
    m_capture->addItem(tr("steps: steps, metrics"),
                       static_cast<int>(control::CaptureLevel::kSteps));
    m_capture->addItem(tr("off"), static_cast<int>(control::CaptureLevel::kOff));
    addField(1, tr("Capture"), m_capture);
    m_deviceCapture = choice(tr("Capture on the device"));
    const std::pair<QString, control::DeviceCapture> levels[] = {
        {tr("auto: by the capture level"), control::DeviceCapture::kAuto},
        {tr("never: no tracer"), control::DeviceCapture::kNever},
        {tr("idle: tracer attached only"), control::DeviceCapture::kIdle},
        {tr("kernels: kernels, copies"), control::DeviceCapture::kKernels},
        {tr("launches: and CUDA calls"), control::DeviceCapture::kLaunches},
        {tr("full: and waits, NCCL"), control::DeviceCapture::kFull}};
    for (const auto& [name, level] : levels)
        m_deviceCapture->addItem(name, static_cast<int>(level));
    m_deviceCaptureNote = addField(2, tr("Capture on the device"), m_deviceCapture);
}

void NewRunPage::addOutputFields() {
    addSection(tr("Recording"));
    auto* outputCell = new QWidget(this);
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
}

QWidget* NewRunPage::buildForm(QWidget* parent) {
    auto* form = new QWidget(parent);
    m_grid = new QGridLayout(form);
    m_grid->setContentsMargins(0, 0, 0, 0);
    m_grid->setHorizontalSpacing(12);
    m_grid->setVerticalSpacing(kGapSmall);
    for (int column = 0; column < kColumns; ++column) m_grid->setColumnStretch(column, 1);
    addModelFields();
    addStrategyFields();
    addDeviceFields();
    addDataFields();
    addStepFields();
    addOutputFields();
    return form;
}

}  // namespace shardscope::desktop
