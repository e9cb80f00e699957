#include "app/desktop/widgets/axis.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/widgets/painting.h"

#include <algorithm>
#include <cmath>
#include <ranges>

namespace shardscope::desktop {

double AxisRange::position(double value, double length) const {
    if (!(high > low)) return 0;
    if (logarithmic) return value > 0 ? std::log(value / low) / std::log(high / low) * length : 0;
    return (value - low) / (high - low) * length;
}

double AxisRange::value(double position, double length) const {
    if (length <= 0) return low;
    if (logarithmic) return low * std::pow(high / low, position / length);
    return low + position / length * (high - low);
}

namespace {

/// Ticks lie at even distances: of less than half a decade powers of ten alone would leave the axis
/// without a label.
bool isEven(const AxisRange& range) {
    return !range.logarithmic || std::log10(range.high / range.low) < 0.5;
}

}  // namespace

std::vector<double> axisTicks(const AxisRange& range, int maximumTicks) {
    if (isEven(range)) {
        auto ticks = niceTicks(range.low, range.high, maximumTicks);
        // one alone gives no scale
        for (int more = 2; ticks.size() < 2 && more <= 8 && range.high > range.low; more *= 2)
            ticks = niceTicks(range.low, range.high, maximumTicks * more);
        return ticks;
    }
    const double decades = std::log10(range.high / range.low);
    const bool fine = decades * 3 <= maximumTicks;
    const double every = std::max(1.0, std::ceil(decades / std::max(1, maximumTicks)));
    std::vector<double> ticks;
    for (double power = std::floor(std::log10(range.low)); power <= std::log10(range.high);
         power += every) {
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double tick = factor * std::pow(10.0, power);
            if (factor > 1 && !fine) continue;
            if (tick >= range.low * (1 - 1e-9) && tick <= range.high * (1 + 1e-9))
                ticks.push_back(tick);
        }
    }
    return ticks;
}

QString axisTickText(const AxisRange& range, const std::vector<double>& ticks, double tick) {
    return formatTick(tick, isEven(range) ? tickStep(ticks) : tick);
}

double tickStep(const std::vector<double>& ticks) {
    return ticks.size() > 1 ? ticks[1] - ticks[0] : 1;
}

void spreadWords(std::vector<WordPlace>& words, double left, double right) {
    constexpr double kBetween = 8;
    double room = right - left + kBetween;
    std::size_t fit = 0;
    while (fit < words.size() && (room -= words[fit].width + kBetween) >= 0) ++fit;
    words.resize(fit);
    for (WordPlace& word : words) {
        word.left = std::max(word.left, left);
        left = word.right() + kBetween;
    }
    for (WordPlace& word : std::ranges::reverse_view(words)) {
        word.left = std::min(word.left, right - word.width);
        right = word.left - kBetween;
    }
}

void paintLeftAxis(QPainter& painter, const QRectF& plot, const AxisRange& range,
                   const std::vector<double>& ticks, const TickText& text, const QString& title,
                   const Theme& theme) {
    painter.save();
    painter.setFont(textFont(kSmallPixels - 1));
    for (double tick : ticks) {
        const double y = std::round(plot.bottom() - range.position(tick, plot.height())) - 0.5;
        if (y < plot.top() - 1 || y > plot.bottom() + 1) continue;
        painter.setPen(theme.hairline);
        painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
        painter.setPen(theme.quietText);
        drawTabular(painter, QRectF(0, y - 8, plot.left() - 6, 16), Qt::AlignRight, text(tick));
    }
    painter.setPen(theme.quietText);
    if (!title.isEmpty()) {
        drawTabular(painter, QRectF(0, plot.top() - 22, plot.right(), 14), Qt::AlignLeft, title);
    }
    painter.restore();
}

void paintBottomAxis(QPainter& painter, const QRectF& plot, const AxisRange& range,
                     const std::vector<double>& ticks, const TickText& text, const QString& title,
                     const QRectF& limits, const Theme& theme) {
    painter.save();
    painter.setFont(textFont(kSmallPixels - 1));
    painter.setPen(theme.quietText);
    double free = limits.left();
    for (double tick : ticks) {
        const double x = std::round(plot.left() + range.position(tick, plot.width())) + 0.5;
        if (x < plot.left() - 1 || x > plot.right() + 1.5) continue;
        painter.drawLine(QPointF(x, plot.bottom()), QPointF(x, plot.bottom() + 4));
        const QString label = text(tick);
        const double wide = tabularWidth(painter.font(), label);
        const double left =
            std::clamp(x - wide / 2, limits.left(), std::max(limits.left(), limits.right() - wide));
        if (left < free) continue;
        drawTabular(painter, QRectF(left, plot.bottom() + 5, wide, 14), Qt::AlignLeft, label);
        free = left + wide + 8;
    }
    if (!title.isEmpty()) {
        drawTabular(painter, QRectF(plot.left(), plot.bottom() + 20, plot.width(), 14),
                    Qt::AlignRight, title);
    }
    painter.restore();
}

}  // namespace shardscope::desktop
