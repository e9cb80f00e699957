// Prepared values for the chart widgets: bars, columns, lines. Plain values, no paint.
#pragma once

#include "app/desktop/models/meaning.h"

#include <QPointF>
#include <QString>
#include <QVector>
#include <cstddef>
#include <vector>

namespace shardscope::desktop {

struct BarSegment {
    double value = 0;
    Meaning meaning = Meaning::kHost;
    QString name;
    QString text;       ///< value with unit
    bool pale = false;  ///< behind the others: what costs nothing
};

/// One stacked bar: a rank, a strategy.
struct StackedBar {
    QString label;
    QString total;  ///< text behind the bar
    std::vector<BarSegment> segments;
    double mark = 0;         ///< dashed tick (theory); 0: none
    bool emphasised = true;  ///< others are drawn pale
    [[nodiscard]] double sum() const;
};

/// The same of two, one to the left and one to the right, on one scale.
struct MirroredBar {
    QString name;
    Meaning meaning = Meaning::kHost;
    double left = 0, right = 0;
    QString leftText, rightText;  ///< values with units
    QString difference;           ///< of right against left
};

/// Bars side by side over one name: the kinds of collectives of a layer.
struct ColumnGroup {
    QString label;  ///< on the axis
    std::vector<StackedBar> columns;
};

struct LegendEntry {
    QString text;
    Meaning meaning = Meaning::kHost;
    bool dashed = false;
    bool pale = false;
};

/// A line of a chart, at most a few thousand points.
struct LineSeries {
    QString name;
    QVector<QPointF> points;
    Meaning meaning = Meaning::kCompute;
    bool dots = false;    ///< sparse points, drawn one by one as well
    bool joined = true;   ///< by a line
    bool dashed = false;  ///< theory
    bool pale = false;    ///< behind the others: what a smoothed line was made of
};

/// An area between two lines over the same x.
struct BandSeries {
    QString name;
    QVector<QPointF> low, high;
    Meaning meaning = Meaning::kCompute;
};

/// Columns of equal width side by side, the first from `low` on.
struct Histogram {
    double low = 0;
    double width = 1;
    std::vector<double> counts;
    Meaning meaning = Meaning::kCompute;
    [[nodiscard]] double high() const { return low + width * static_cast<double>(counts.size()); }
};

/// A line across a chart with a word at its end: a median, a target, a theory.
struct ChartMark {
    double value = 0;
    QString text;
    bool dashed = true;
};

/// Points of a line that a chart is given.
inline constexpr int kChartPointLimit = 4000;
/// At most `limit` points with every column's minimum and maximum kept, so that no spike
/// disappears. `points` by x.
[[nodiscard]] QVector<QPointF> decimated(const QVector<QPointF>& points, int limit);

// Prepared values of a heat map: rows x columns of shares. Plain values.

struct HeatData {
    std::vector<QString> rows;     ///< names, top first
    std::vector<QString> columns;  ///< names, left first
    std::vector<float> values;     ///< row by row; negative: not known
    float maximum = 1;             ///< the scale's end; it begins at 0
    /// Columns that stand out, the rest is drawn pale; half-open, none: all of them.
    std::size_t shownFrom = 0, shownTo = 0;

    [[nodiscard]] float at(std::size_t row, std::size_t column) const {
        return values[row * columns.size() + column];
    }
};

}  // namespace shardscope::desktop
