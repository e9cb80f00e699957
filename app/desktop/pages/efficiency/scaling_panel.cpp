#include "app/desktop/pages/efficiency/scaling_panel.h"

#include "app/desktop/loading/import_cache.h"
#include "app/desktop/models/format.h"
#include "app/desktop/pages/choose_recordings.h"
#include "app/desktop/pages/efficiency/efficiency_model.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <string>

namespace shardscope::desktop {
namespace {

constexpr int kChartHeight = 208;
constexpr int kScaling = 0;  ///< what is asked of the readers

QString fileName(const QString& path) {
    return path.section(u'/', -1, -1, QString::SectionSkipEmpty);
}

}  // namespace

ScalingPanel::ScalingPanel(ComparedFiles& files, QWidget* parent)
    : QWidget(parent), m_files(files) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    auto* title = new QHBoxLayout;
    title->addWidget(sectionLabel(tr("Scaling over recordings"), this));
    title->addStretch();
    m_show = new QPushButton(tr("Show anyway"), this);
    m_show->setToolTip(tr("Show the figures although the recordings are of different work"));
    connect(m_show, &QPushButton::clicked, this, [this] {
        m_anyway = true;
        refresh();
    });
    m_add = new QPushButton(tr("Add recordings…"), this);
    m_add->setToolTip(tr("Add recordings of the same model with other numbers of ranks"));
    connect(m_add, &QPushButton::clicked, this, &ScalingPanel::addRecordings);
    title->addWidget(m_show);
    title->addWidget(m_add);
    layout->addLayout(title);
    m_words = quietLabel({}, this);
    layout->addWidget(m_words);
    m_full = buildFull();
    layout->addWidget(m_full);
    m_unknown = quietLabel({}, this);
    layout->addWidget(m_unknown);
    connect(&m_files, &ComparedFiles::changed, this, [this] {
        m_anyway = false;
        if (m_recording && isVisible()) refresh();
    });
}

QWidget* ScalingPanel::buildFull() {
    auto* full = new QWidget(this);
    auto* layout = new QVBoxLayout(full);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    auto* row = new QHBoxLayout;
    row->setSpacing(32);
    for (ChartPanel** chart : {&m_efficiency, &m_throughput}) {
        *chart = new ChartPanel(full);
        (*chart)->setFixedHeight(kChartHeight);
        (*chart)->setStartsAtZero(true);
        row->addWidget(*chart, 1);
    }
    m_efficiency->setTitles(tr("Scaling efficiency"), tr("%"), tr("ranks"));
    m_efficiency->setDefinition(
        tr("Throughput of n ranks / (n x the measured throughput of one), with its 99.7 % interval "
           "by a block bootstrap over the steady steps."));
    m_efficiency->setEmptyText(
        tr("Unknown: no recording of one rank that did the same work per step or rank."));
    m_throughput->setTitles(tr("Throughput"), tr("tok/s"), tr("ranks"));
    m_throughput->setDefinition(
        tr("Tokens of all ranks in the median step / its time. Dashed: n "
           "times what one rank reached alone."));
    m_throughput->setEmptyText(tr("Unknown: no recording has whole steps."));
    layout->addLayout(row);
    m_table = new DataTable(tr("Throughput and efficiency by number of ranks"), full);
    m_table->setFitsRows(true);
    layout->addWidget(m_table);
    return full;
}

void ScalingPanel::addRecordings() {
    chooseRecordings(this, tr("Add recordings"), [this](const QStringList& files) {
        for (const QString& file : files) m_files.add(file);
    });
}

void ScalingPanel::forget() {
    m_readers.forget(kScaling);
    m_isReading = false;
    m_asked.reset();
    m_frame.reset();
    m_failure.clear();
    m_recording.reset();
}

void ScalingPanel::present(const RecordingPtr& recording, double target) {
    m_recording = recording;
    m_target = target;
    refresh();
}

void ScalingPanel::refresh() {
    const QStringList files = m_files.withOpen(*m_recording);
    if (files.size() < 2 || m_recording->isImporting()) {
        m_readers.forget(kScaling);
        m_isReading = false;
        m_asked.reset();
        m_frame.reset();
        m_failure.clear();
        return showFrame();
    }
    ScalingQuery query{files, {}, m_anyway};
    for (const QString& file : files)
        query.names << fileName(file == m_recording->path ? m_recording->address() : file);
    const bool finished = m_recording->summary.complete;
    if (m_asked == query && m_askedFinished == finished) return showFrame();
    m_askedFinished = finished;
    ask(query);
}

void ScalingPanel::ask(const ScalingQuery& query) {
    m_asked = query;
    m_failure.clear();
    m_isReading = true;
    showFrame();
    m_readers.ask(
        kScaling, query.files,
        [query](const OtherRecordings::Readers& readers) { return readScaling(readers, query); },
        [this](const Result<ScalingFramePtr>& made) { take(made); });
}

void ScalingPanel::take(const Result<ScalingFramePtr>& made) {
    m_isReading = false;
    m_frame = made ? *made : ScalingFramePtr();
    m_failure = made ? QString() : fromUtf8(made.error().message);
    showFrame();
}

void ScalingPanel::showFrame() {
    const bool refused = m_frame && !m_frame->refusals.isEmpty();
    m_full->setVisible(m_frame && !refused);
    m_show->setVisible(refused);
    m_unknown->hide();
    if (!m_failure.isEmpty()) return m_words->setText(tr("Unknown: %1").arg(m_failure));
    if (!m_frame)
        return m_words->setText(
            m_isReading ? tr("Reading the recordings…")
                        : tr("Unknown from one recording alone: add recordings of the same "
                             "model with other numbers of ranks, one of them with a single rank, "
                             "which the others are measured against."));
    if (refused)
        return m_words->setText(
            tr("These recordings do not scale the same work: %1 Recording 1 is the open one.")
                .arg(m_frame->refusals.join(u' ')));
    QStringList sentences;
    for (const std::string& sentence : m_frame->answer.sentences) sentences << fromUtf8(sentence);
    sentences << tr("Of whole recordings, whatever is selected.");
    m_words->setText(sentences.join(u' '));
    const ScalingCharts charts = scalingCharts(m_frame->answer);
    m_efficiency->setBands(charts.interval);
    m_efficiency->setSeries(charts.efficiency);
    m_efficiency->setMarks({}, {{m_target * 100, tr("target ≥ %1").arg(formatPercent(m_target))}});
    m_throughput->setSeries(charts.throughput);
    const questions::Table* table = findTable(m_frame->answer, "recordings");
    m_table->setVisible(table != nullptr);
    if (table != nullptr) {
        AnswerTable shown = answerTable(*table);
        m_table->setTable(std::move(shown.columns), std::move(shown.rows));
    }
    m_unknown->setText(unknownSentences(m_frame->answer, m_frame->answer.unknown.size()));
    m_unknown->setVisible(!m_frame->answer.unknown.empty());
}

}  // namespace shardscope::desktop
