#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/pictures/column_chart.h"
#include "tests/bench/desktop/measure.h"

#include <fmt/core.h>

#include <QCoreApplication>
#include <QGridLayout>
#include <QImage>
#include <cmath>

namespace shardscope::desktop::bench {
namespace {

constexpr int kPoints = 4000;
constexpr int kUpdates = 50;

QVector<QPointF> noisyCurve(int points, int phase) {
    QVector<QPointF> curve;
    std::uint32_t noise = 1;
    for (int i = 0; i < points; ++i) {
        noise = noise * 1664525U + 1013904223U;
        curve.push_back({static_cast<double>(i),
                         5.0 * std::exp(-(i + phase) / 900.0) + (noise >> 20) / 4096.0});
    }
    return curve;
}

/// As the window does: what was changed, into the store it keeps.
void paintOnce(QWidget& page) {
    page.repaint();
}

std::vector<StackedBar> bars(int count) {
    std::vector<StackedBar> made;
    constexpr Meaning kParts[] = {Meaning::kCompute, Meaning::kOptimizer, Meaning::kGather,
                                  Meaning::kWaiting, Meaning::kReduction, Meaning::kHost};
    for (int i = 0; i < count; ++i) {
        StackedBar bar{QString::number(i), {}, {}};
        for (const Meaning part : kParts) bar.segments.push_back({1.0 + i % 7, part, {}, {}});
        made.push_back(std::move(bar));
    }
    return made;
}

}  // namespace

void measureCharts() {
    QWidget page;
    page.resize(1600, 1000);
    auto* grid = new QGridLayout(&page);
    std::vector<ChartPanel*> charts;
    for (int i = 0; i < 4; ++i) {
        charts.push_back(new ChartPanel(&page));
        charts.back()->setTitles(QStringLiteral("Loss"), QStringLiteral("nats"),
                                 QStringLiteral("step"));
        grid->addWidget(charts.back(), i / 2, i % 2);
    }
    page.show();
    QCoreApplication::processEvents();
    std::vector<QVector<QPointF>> curves;
    for (int phase = 0; phase <= kUpdates; ++phase) curves.push_back(noisyCurve(kPoints, phase));
    const auto update = [&](int phase) {
        for (ChartPanel* chart : charts)
            chart->setSeries(
                {{QStringLiteral("training"), curves[static_cast<std::size_t>(phase)]}});
    };
    const double begun = wallMs();
    update(0);
    paintOnce(page);
    fmt::print("four charts of {} points, first paint: {:.1f} ms\n", kPoints, wallMs() - begun);
    const double before = processorMs();
    for (int i = 1; i <= kUpdates; ++i) {
        update(i);
        paintOnce(page);
    }
    const double each = (processorMs() - before) / kUpdates;
    fmt::print("an update of all four: {:.2f} ms of a core; ten a second: {:.1f} %\n", each, each);
    const double moves = processorMs();
    for (int i = 1; i <= kUpdates; ++i) {
        for (ChartPanel* chart : charts) chart->showCursor(i * 40.0);
        paintOnce(page);
    }
    fmt::print("a cursor move over all four: {:.2f} ms\n", (processorMs() - moves) / kUpdates);
}

void measureBars() {
    for (const int count : {16, 64, 500, 2000}) {
        QImage image(1200, 240, QImage::Format_ARGB32_Premultiplied);
        image.fill(Qt::white);
        const auto columns = bars(count);
        ChartPlot plot;
        const double begun = processorMs();
        plot.set({{}, {}, columns, false, {}}, {-0.5, count - 0.5}, {0, 60}, Theme::light());
        QPainter painter(&image);
        plot.paint(painter, QRectF(20, 20, 1100, 200));
        const double charts = processorMs() - begun;
        painter.end();
        ColumnChart raster;
        raster.resize(1200, 240);
        const double rasterBegun = processorMs();
        raster.setColumns(columns);
        raster.render(&image);
        fmt::print("{} columns of 6 parts: Qt Charts {:.1f} ms, raster {:.1f} ms\n", count, charts,
                   processorMs() - rasterBegun);
    }
}

}  // namespace shardscope::desktop::bench
