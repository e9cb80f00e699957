#include "app/desktop/pages/training/training_page.h"

#include "app/desktop/pages/training/training_model.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/theme.h"

#include <QGridLayout>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kCharts = 4;

}  // namespace

PageEntry TrainingPage::entry() {
    return {page_ids::kTraining, u"training"_s, tr("Training"),
            [](PageContext& context, QWidget* parent) -> Page* {
                return new TrainingPage(context, parent);
            }};
}

TrainingPage::TrainingPage(PageContext& context, QWidget* parent) : RecordingPage(context, parent) {
    auto* content = new QWidget(this);
    auto* grid = new QGridLayout(content);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(32);
    grid->setVerticalSpacing(kGapGroup);
    for (int i = 0; i < kCharts; ++i) {
        auto* chart = new ChartPanel(content);
        grid->addWidget(chart, i / 2, i % 2);
        m_charts.push_back(chart);
    }
    linkCharts(m_charts);
    for (ChartPanel* from : m_charts) {
        connect(from, &ChartPanel::activated, this, [this](double x) {
            const StepIndex wanted{static_cast<std::int32_t>(std::lround(x))};
            for (const StepFacts& step : recording().summary.steps) {
                if (step.step != wanted) continue;
                this->selection().selectSteps({wanted, wanted});
                return;
            }
        });
    }
    setUp(content, entry().icon, tr("Does it learn?"),
          tr("Open a recording or start a run: this page then shows loss, learning rate, gradient "
             "norm and throughput over the steps."),
          {{0, 0, 0.48, 0.46},
           {0.52, 0, 0.48, 0.46},
           {0, 0.52, 0.48, 0.46},
           {0.52, 0.52, 0.48, 0.46}},
          false);
}

void TrainingPage::present() {
    pageFrame().setHeadline(trainingHeadline(recording()), trainingSubline(recording()));
    const auto charts = metricCharts(recording().summary.metrics);
    double lastStep = 1;
    for (const MetricPoint& point : recording().summary.metrics) {
        lastStep = std::max(lastStep, static_cast<double>(point.step.value));
    }
    std::optional<AxisRange> highlight;
    if (selection().current().cutsTime()) {
        if (const auto steps = recording().stepsOf(selection().current()))
            highlight = AxisRange{steps->first.value - 0.5, steps->last.value + 0.5};
    }
    for (std::size_t i = 0; i < m_charts.size(); ++i) {
        m_charts[i]->setTitles(charts[i].title,
                               charts[i].unit == u"1"_s ? QString() : charts[i].unit, tr("step"));
        m_charts[i]->setDefinition(charts[i].definition);
        m_charts[i]->setSeries(charts[i].series);
        m_charts[i]->setRange(0, lastStep);
        m_charts[i]->setStartsAtZero(charts[i].key != u"loss"_s);
        m_charts[i]->setHighlight(highlight);
    }
}

}  // namespace shardscope::desktop
