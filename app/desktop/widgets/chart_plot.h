// What a chart draws, by Qt Charts: lines, dots, bands, histograms, stacks. chart_plot.cpp is the
// only file that includes its headers. A picture without axes, titles and cursor, which are
// ChartPanel's; drawn again only when something changed. GUI thread.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/widgets/axis.h"
#include "app/desktop/widgets/theme.h"

#include <QPainter>
#include <QRectF>
#include <memory>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// What is drawn, from back to front.
struct ChartContent {
    std::vector<BandSeries> bands;
    std::optional<Histogram> histogram;
    std::vector<StackedBar> stack;  ///< columns, or bars where `horizontal`
    bool horizontal = false;
    std::vector<LineSeries> lines;
};

/// The colour of a line: compute's blue has too little contrast on a dark window.
[[nodiscard]] QColor lineColour(const Theme& theme, Meaning meaning);

class ChartPlot {
public:
    ChartPlot();
    ~ChartPlot();
    ChartPlot(const ChartPlot&) = delete;
    ChartPlot& operator=(const ChartPlot&) = delete;

    /// Points of lines outside `horizontal` may be left out by the caller.
    void set(const ChartContent& content, const AxisRange& horizontal, const AxisRange& vertical,
             const Theme& theme);
    /// `area` is the plot's; marks may reach a few pixels beyond it.
    void paint(QPainter& painter, const QRectF& area);

private:
    struct Scene;
    std::unique_ptr<Scene> m_scene;
};

}  // namespace shardscope::desktop
