// Painting of chart axes: tick marks, labels, grid lines, titles with units. Pure paint.
#pragma once

#include "app/desktop/widgets/theme.h"

#include <QPainter>
#include <QRectF>
#include <QString>
#include <functional>
#include <vector>

namespace shardscope::desktop {

using TickText = std::function<QString(double)>;
/// Distance between the first two ticks; 1 when there are fewer.
[[nodiscard]] double tickStep(const std::vector<double>& ticks);

/// Values low..high over a plot's width or height. Of a logarithmic one low is above zero.
struct AxisRange {
    double low = 0;
    double high = 1;
    bool logarithmic = false;
    [[nodiscard]] double position(double value, double length) const;
    [[nodiscard]] double value(double position, double length) const;
    friend bool operator==(const AxisRange&, const AxisRange&) = default;
};

/// At 1-2-5; of a logarithmic range powers of ten, and 2 and 5 between them where there is room.
[[nodiscard]] std::vector<double> axisTicks(const AxisRange& range, int maximumTicks);
/// Of one of `ticks`: "0.01", "10", "1,000"; as many decimals as they need.
[[nodiscard]] QString axisTickText(const AxisRange& range, const std::vector<double>& ticks,
                                   double tick);

/// Where a word stands on a line.
struct WordPlace {
    double left = 0;
    double width = 0;
    [[nodiscard]] double right() const { return left + width; }
};
/// Words over their marks, in the order of these, moved apart and in between `left` and `right` by
/// as little as that takes; the last ones go where not all have room.
void spreadWords(std::vector<WordPlace>& words, double left, double right);

/// Labels left of the plot, hairlines across it, the title above the labels.
void paintLeftAxis(QPainter& painter, const QRectF& plot, const AxisRange& range,
                   const std::vector<double>& ticks, const TickText& text, const QString& title,
                   const Theme& theme);

/// Ticks and labels below the plot, the title right below them. Labels that would collide or
/// leave `limits` are moved inside or left out.
void paintBottomAxis(QPainter& painter, const QRectF& plot, const AxisRange& range,
                     const std::vector<double>& ticks, const TickText& text, const QString& title,
                     const QRectF& limits, const Theme& theme);

}  // namespace shardscope::desktop
