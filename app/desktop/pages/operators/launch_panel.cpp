#include "app/desktop/pages/operators/launch_panel.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/operators/operators_model.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QGridLayout>
#include <QLabel>
#include <cmath>

namespace shardscope::desktop {
namespace {

constexpr int kChartHeight = 224;
constexpr double kNanoseconds = 1e9;

}  // namespace

LaunchPanel::LaunchPanel(QWidget* parent) : QWidget(parent) {
    auto* layout = new QGridLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setHorizontalSpacing(32);
    layout->setVerticalSpacing(kGapSmall);
    m_queue = new ChartPanel(this);
    m_queue->setTitles(tr("Work in queue"), {}, tr("time (s)"));
    m_queue->setDefinition(
        tr("Kernels and copies of a stream that were launched and had not "
           "begun, over time."));
    m_queue->setEmptyText(tr("No launches were recorded with the work that they asked for."));
    m_queue->setWholeNumbers(false);
    m_queue->setStartsAtZero(true);
    connect(m_queue, &ChartPanel::rangeSelected, this, [this](double low, double high) {
        Q_EMIT rangeSelected(
            {{std::llround(low * kNanoseconds)}, {std::llround(high * kNanoseconds)}});
    });
    m_roofline = new ChartPanel(this);
    m_roofline->setTitles(tr("Roofline of matrix products"), tr("GFLOP/s"),
                          tr("FLOPs a byte (estimated)"));
    m_roofline->setDefinition(
        tr("FLOPs of the products of a shape / their time, against FLOPs / "
           "least bytes that they move."));
    m_roofline->setEmptyText(tr("No matrix products with shapes were recorded."));
    m_roofline->setWholeNumbers(false);
    m_roofline->setLogarithmic(true, true);
    m_queueNote = quietLabel({}, this);
    m_roofNote = quietLabel({}, this);
    int column = 0;
    for (ChartPanel* chart : {m_queue, m_roofline}) {
        chart->setFixedHeight(kChartHeight);
        layout->addWidget(chart, 0, column);
        layout->setColumnStretch(column++, 1);
    }
    layout->addWidget(m_queueNote, 1, 0, Qt::AlignTop);
    layout->addWidget(m_roofNote, 1, 1, Qt::AlignTop);
}

void LaunchPanel::setFrame(const WorkFrame& frame) {
    m_queue->setSeries(queueLines(frame.queues));
    const auto ranks = std::ssize(frame.part->summary->ranks);
    QStringList notes;
    if (!frame.queues.empty() && ranks > 1)
        notes << tr("Of rank %1; select another rank to see it.")
                     .arg(frame.queues.front().rank.value);
    notes << unknownText(frame.launches);
    const QString note = notes.join(u' ').trimmed();
    m_queueNote->setText(note);
    const auto roofline = rooflineOf(frame.work);
    if (roofline) {
        m_roofline->setRange(roofline->low, roofline->high);
        m_roofline->setSeries(roofline->lines);
        m_roofNote->setText(roofline->note);
        return;
    }
    m_roofline->setSeries({});
    m_roofNote->setText(
        tr("It takes shapes and types of inputs: PyTorch's profiler records them "
           "with record_shapes=True, our own at capture level full."));
}

QString LaunchPanel::roofNote() const {
    return m_roofNote->text();
}

}  // namespace shardscope::desktop
