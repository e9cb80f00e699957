// What the Plan page consists of; plan_page.cpp is what it does.
#include "app/desktop/models/format.h"
#include "app/desktop/pages/plan/plan_page.h"
#include "app/desktop/pages/plan/what_if_panel.h"
#include "app/desktop/pages/run_fields/bound_field.h"
#include "app/desktop/pages/run_fields/fold_section.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/legend.h"
#include "app/desktop/widgets/pictures/stacked_bars.h"
#include "app/desktop/widgets/plain_area.h"
#include "app/desktop/widgets/plain_layout.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"
#include "engine/run/config/run_option.h"
#include "engine/run/theory/device_peaks.h"
#include "profiler/planning/model_parallel.h"

#include <QCheckBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSlider>
#include <QSpinBox>
#include <QVBoxLayout>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kChartHeight = 208;
constexpr int kMostLevel = 10;  // of the slider: 1,024 ranks

/// An input with its name above.
QWidget* named(const QString& name, QWidget* input, QWidget* parent) {
    auto* block = new QWidget(parent);
    auto* layout = plainLayout(block, kGapSmall);
    auto* label = new QLabel(name, block);
    label->setBuddy(input);
    input->setAccessibleName(name);
    layout->addWidget(label);
    layout->addWidget(input);
    return block;
}

/// "175 B", "124 M", as people say it.
QString parametersText(double parameters) {
    constexpr double kBillion = 1e9, kMillion = 1e6;
    return parameters >= kBillion
               ? PlanPage::tr("%1 B").arg(QString::number(parameters / kBillion, 'g', 3))
               : PlanPage::tr("%1 M").arg(QString::number(parameters / kMillion, 'g', 3));
}

/// Words that the command line has too, which knows no Qt.
QString translated(const char* words) {
    return QCoreApplication::translate("Parallelism", words);
}

}  // namespace

void PlanPage::addFields(FoldSection* section, const std::vector<const char*>& keys) {
    for (const char* key : keys) {
        auto* field = new BoundField(*run::findRunOption(key), section);
        connect(field, &BoundField::changed, this, &PlanPage::edit);
        section->addField(field, FoldSection::kColumns);
        m_fields.push_back(field);
    }
}

QWidget* PlanPage::buildRanks(FoldSection* section) {
    m_ranks = new QSlider(Qt::Horizontal, section);
    m_ranks->setRange(0, kMostLevel);
    m_ranks->setPageStep(1);
    m_ranks->setToolTip(tr("1 to 1,024 ranks, powers of two"));
    connect(m_ranks, &QSlider::valueChanged, this, [this](int level) {
        qobject_cast<QSpinBox*>(field("ranks")->input())->setValue(1 << level);
    });
    return named(tr("Ranks, in powers of two"), m_ranks, section);
}

QWidget* PlanPage::buildModels(FoldSection* section) {
    m_model = new QComboBox(section);
    m_model->addItem(tr("A model by its shape, below"), QString());
    for (const planning::KnownModel& model : planning::knownModels()) {
        const QString name = fromUtf8(model.name);
        const auto parameters = static_cast<double>(planning::parameterCount(model));
        m_model->addItem(tr("%1, %2 parameters").arg(name, parametersText(parameters)), name);
    }
    m_model->addItem(tr("A number of parameters"), u"parameters"_s);
    m_model->setToolTip(
        tr("The engine trains models by their shape; of others their state is "
           "planned, and how they may be divided"));
    m_model->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_model->setMinimumContentsLength(6);
    connect(m_model, &QComboBox::currentIndexChanged, this, &PlanPage::takeModel);
    return named(tr("Plan for"), m_model, section);
}

void PlanPage::addState(FoldSection* section) {
    m_parameters = new QLineEdit(u"7e9"_s, section);
    m_parameters->setToolTip(tr("7e9, 7B or 124M"));
    m_stateBytes = new QLineEdit(StateModel().stateBytes, section);
    m_stateBytes->setToolTip(
        tr("Bytes of one parameter, its gradient and its optimizer state, as 2+2+12"));
    for (QLineEdit* each : {m_parameters, m_stateBytes})
        connect(each, &QLineEdit::textChanged, this, &PlanPage::edit);
    m_parametersBlock = named(tr("Parameters"), m_parameters, section);
    m_stateBlock = named(tr("Bytes of state per parameter"), m_stateBytes, section);
    for (QWidget* block : {m_parametersBlock, m_stateBlock}) {
        section->add(block, FoldSection::kColumns);
        block->hide();
    }
}

QWidget* PlanPage::buildDevices(FoldSection* section) {
    m_device = new QComboBox(section);
    m_device->addItem(tr("This machine (CPU)"), QString());
    for (const std::string_view device : theory::knownDevices()) {
        const QString name = fromUtf8(device);
        const auto memory = memoryOfDevice(name);
        if (!memory) continue;
        m_device->addItem(name, name);
    }
    connect(m_device, &QComboBox::activated, this, &PlanPage::takeDevice);
    return named(tr("Device"), m_device, section);
}

QWidget* PlanPage::buildSettings(QWidget* parent) {
    auto* form = new QWidget(parent);
    auto* layout = plainLayout(form);
    layout->setContentsMargins(0, 0, kGap, 0);
    auto* devices = new FoldSection(tr("Device and link"), true, form);
    devices->add(buildDevices(devices), FoldSection::kColumns);
    m_perHost = new QSpinBox(devices);
    m_perHost->setRange(1, 1024);
    m_perHost->setValue(8);
    m_perHost->setButtonSymbols(QAbstractSpinBox::NoButtons);
    connect(m_perHost, &QSpinBox::valueChanged, this, &PlanPage::refresh);
    addFields(devices, {"precision", "link_gb_per_s", "link_latency_us"});
    devices->add(named(tr("Ranks per host"), m_perHost, devices), FoldSection::kColumns);
    auto* run = new FoldSection(tr("Ranks and batch"), true, form);
    addFields(run, {"ranks"});
    run->add(buildRanks(run), FoldSection::kColumns);
    addFields(run, {"batch", "accumulate", "recompute_every", "strategy"});
    m_ofRecommended = new QCheckBox(tr("Curves of what is recommended"), run);
    m_ofRecommended->setToolTip(tr("Instead of the strategy above"));
    m_ofRecommended->setChecked(true);
    connect(m_ofRecommended, &QCheckBox::toggled, this, &PlanPage::refresh);
    run->add(m_ofRecommended, FoldSection::kColumns);
    auto* model = new FoldSection(tr("Model"), true, form);
    model->add(buildModels(model), FoldSection::kColumns);
    addState(model);
    addFields(model, {"model.name", "model.layers", "model.heads", "model.hidden", "model.context",
                      "model.vocabulary"});
    connect(qobject_cast<QComboBox*>(field("model.name")->input()), &QComboBox::activated, this,
            &PlanPage::choosePreset);
    for (FoldSection* section : {model, run, devices}) layout->addWidget(section);
    layout->addStretch();
    return scrollingColumn(form, parent);
}

PlanPage::Block PlanPage::addBlock(QWidget* parent, const QString& name) {
    Block block{sectionLabel(name, parent), new DataTable(name, parent)};
    block.title->setWordWrap(true);
    block.table->setFitsRows(true);
    parent->layout()->addWidget(block.title);
    parent->layout()->addWidget(block.table);
    return block;
}

QWidget* PlanPage::buildCharts(QWidget* parent) {
    auto* block = new QWidget(parent);
    auto* layout = plainLayout(block);
    m_chartRow = new QHBoxLayout;
    m_chartRow->setSpacing(32);
    for (ChartPanel** chart : {&m_efficiency, &m_throughput}) {
        *chart = new ChartPanel(block);
        (*chart)->setFixedHeight(kChartHeight);
        (*chart)->setLogarithmic(true, chart == &m_throughput);
        (*chart)->setWholeNumbers(true);
        (*chart)->setNamed(false);
        m_chartRow->addWidget(*chart, 1);
    }
    m_efficiency->setStartsAtZero(true);
    m_efficiency->setDefinition(
        tr("Tokens/s over ranks times those of one rank, estimated; above 100 % where what each "
           "rank has to update shrinks."));
    m_throughput->setDefinition(
        tr("Tokens of all ranks per second, estimated, with the band of what steps were recorded "
           "or devices are known to compute."));
    layout->addLayout(m_chartRow);
    m_chartLegend = new Legend(block);
    layout->addWidget(m_chartLegend);
    m_aboveLinear = quietLabel({}, block);
    m_aboveLinear->setAccessibleName(tr("Why an efficiency is above 100 %"));
    layout->addWidget(m_aboveLinear);
    return block;
}

QWidget* PlanPage::buildParallelisms(QWidget* parent) {
    auto* block = new QWidget(parent);
    auto* layout = plainLayout(block);
    for (const planning::Parallelism each : kAll<planning::Parallelism>) {
        const planning::ParallelismWords& words = *entryOf(each);
        auto* section = new FoldSection(translated(words.name), false, block);
        section->setSummary(translated(words.divides));
        QLabel* text = quietLabel(tr("%1 Sends: %2 Take it: %3 (%4)")
                                      .arg(translated(words.divides), translated(words.sends),
                                           translated(words.when), translated(words.source)),
                                  section);
        QLabel* picture = codeLabel(fromUtf8(words.picture), section);
        picture->setAccessibleName(tr("Picture of %1").arg(translated(words.name)));
        section->add(text, FoldSection::kColumns);
        section->add(picture, FoldSection::kColumns);
        layout->addWidget(section);
    }
    return block;
}

QWidget* PlanPage::buildPlan(QWidget* parent) {
    auto* column = new QWidget(parent);
    auto* parts = plainLayout(column);
    parts->setContentsMargins(kGap, 0, kGap, 0);
    m_plan = new QWidget(column);
    auto* layout = plainLayout(m_plan);
    m_strategies = addBlock(m_plan, tr("Strategies"));
    m_reasons = quietLabel({}, m_plan);
    m_reasons->setAccessibleName(tr("Why each strategy, or why not"));
    layout->addWidget(m_reasons);
    m_times = addBlock(m_plan, tr("Time of a step"));
    m_replay = quietLabel({}, m_plan);
    m_replay->setAccessibleName(tr("Error of the model on the recording"));
    layout->addWidget(m_replay);
    m_unknown = quietLabel({}, m_plan);
    m_unknown->setAccessibleName(tr("Why step times are unknown"));
    layout->addWidget(m_unknown);
    m_whatIf = new WhatIfPanel(m_loader, column);
    parts->addWidget(m_plan);
    parts->addWidget(m_whatIf);
    parts->addWidget(buildMore(column));
    parts->addStretch();
    // until there is a plan
    m_plan->hide();
    m_more->hide();
    return scrollingColumn(column, parent);
}

QWidget* PlanPage::buildMore(QWidget* parent) {
    m_more = new QWidget(parent);
    auto* layout = plainLayout(m_more);
    m_charts = buildCharts(m_more);
    layout->addWidget(m_charts);
    m_limits = addBlock(m_more, tr("How far each goes in this memory"));
    m_memoryTitle = sectionLabel({}, m_more);
    layout->addWidget(m_memoryTitle);
    m_memory = new StackedBars(m_more);
    m_memory->setAccessibleName(tr("Most that a rank holds, by strategy"));
    m_memory->setLabelWidth(88);
    m_legend = new Legend(m_more);
    layout->addWidget(m_memory);
    layout->addWidget(m_legend);
    m_ofRanks = new ChartPanel(m_more);
    m_ofRanks->setFixedHeight(kChartHeight);
    m_ofRanks->setLogarithmic(true, true);
    m_ofRanks->setWholeNumbers(true);
    m_ofRanks->setNamed(false);
    layout->addWidget(m_ofRanks);
    m_ofRanksLegend = new Legend(m_more);
    layout->addWidget(m_ofRanksLegend);
    m_weak = addBlock(m_more, tr("Weak scaling"));
    m_strong = addBlock(m_more, tr("Strong scaling"));
    m_ends = quietLabel({}, m_more);
    layout->addWidget(m_ends);
    m_fitsOn = addBlock(m_more, tr("Fits on"));
    m_divisions = addBlock(m_more, tr("Divided by tensors and stages"));
    layout->addWidget(sectionLabel(tr("What the ways to divide are"), m_more));
    layout->addWidget(buildParallelisms(m_more));
    return m_more;
}

}  // namespace shardscope::desktop
