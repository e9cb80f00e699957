#include "app/desktop/widgets/pictures/stacked_area.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/widgets/axis.h"
#include "app/desktop/widgets/painting.h"
#include "app/desktop/widgets/pictures/picture.h"

#include <QEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <ranges>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kLeft = 64;
constexpr int kTop = 28;
constexpr int kAxis = 40;
constexpr double kClick = 4;      ///< a press that moves less selects no range
constexpr int kLongStride = 10;   ///< columns, with Shift
constexpr double kPeakReach = 6;  ///< within which a click means the peak

}  // namespace

StackedArea::StackedArea(QWidget* parent) : QWidget(parent) {
    setMouseTracking(true);
    setLayoutDirection(Qt::LeftToRight);  // as it is painted, in every language
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void StackedArea::setTitle(const QString& title) {
    m_title = title;
    m_spoken.setName(tr("Memory by category over time, %1").arg(title));
    update();
}

void StackedArea::setBands(std::vector<AreaBand> bands, TimeRange range, double highest) {
    m_bands = std::move(bands);
    m_range = range;
    m_highest = std::max(highest, 1.0);
    m_picture = QPixmap();
    describe();
    update();
}

void StackedArea::setReference(double value, const QString& text) {
    m_reference = value;
    m_referenceText = text;
    describe();
    update();
}

void StackedArea::setLimit(double value, const QString& text) {
    m_limit = value;
    m_limitText = text;
    describe();
    update();
}

void StackedArea::setPlotHeight(int height) {
    setFixedHeight(height + kTop + (m_showsAxis ? kAxis : 8));
}

void StackedArea::setLine(const QString& name, std::vector<double> values) {
    m_line = {name, Meaning::kReserved, std::move(values)};
    update();
}

void StackedArea::setMarks(std::vector<AreaMark> marks) {
    m_marks = std::move(marks);
    update();
}

void StackedArea::setPeak(std::optional<Timestamp> time, const QString& text) {
    m_peak = time;
    m_peakText = text;
    describe();
    update();
}

void StackedArea::setGaps(std::vector<AreaGap> gaps) {
    m_gaps = std::move(gaps);
    update();
}

void StackedArea::setMoment(std::optional<Timestamp> time) {
    m_moment = time;
    update();
}

void StackedArea::setShowsAxis(bool shows) {
    m_showsAxis = shows;
    update();
}

void StackedArea::showCursor(std::optional<double> share) {
    m_cursor = share;
    QStringList words;
    for (const auto& [name, value] : cursorLines()) words << name + u' ' + value;
    m_spoken.setCurrent(words.join(u", "_s));
    update();
}

int StackedArea::columns() const {
    return m_bands.empty() ? 0 : static_cast<int>(m_bands.front().values.size());
}

void StackedArea::describe() {
    const auto instant = [this](Timestamp time) {
        return formatInstant(time, {m_range.duration().ns / 1000});
    };
    QStringList words{tr("from %1 to %2").arg(instant(m_range.begin), instant(m_range.end))};
    for (const QString& each : {m_peakText, m_referenceText, m_limitText})
        if (!each.isEmpty()) words << each;
    m_spoken.setSummary(words.join(u"; "_s));
}

std::vector<std::pair<QString, QString>> StackedArea::cursorLines() const {
    if (!m_cursor || columns() == 0) return {};
    const auto last = static_cast<std::size_t>(columns()) - 1;
    const auto column =
        std::min(last, static_cast<std::size_t>(std::max(0.0, *m_cursor) * columns()));
    double sum = 0;
    for (const AreaBand& band : m_bands) sum += band.values[column];
    std::vector<std::pair<QString, QString>> lines;
    const TimeScale scale{m_range, static_cast<double>(columns())};
    lines.emplace_back(formatInstant(scale.time(static_cast<double>(column)), scale.resolution()),
                       formatBytes({std::llround(sum)}));
    for (const AreaBand& band : std::views::reverse(m_bands)) {
        if (band.values[column] > 0)
            lines.emplace_back(band.name, formatBytes({std::llround(band.values[column])}));
    }
    if (column < m_line.values.size())
        lines.emplace_back(m_line.name, formatBytes({std::llround(m_line.values[column])}));
    return lines;
}

QRectF StackedArea::plot() const {
    return QRectF(rect()).adjusted(kLeft, kTop, -8, m_showsAxis ? -kAxis : -8);
}

int StackedArea::plotWidth() const {
    return std::max(1, static_cast<int>(plot().width() * devicePixelRatioF()));
}

QPixmap StackedArea::renderBands() const {
    const QRectF area = plot();
    const double ratio = devicePixelRatioF();
    QPixmap picture((area.size() * ratio).toSize().expandedTo({1, 1}));
    picture.setDevicePixelRatio(ratio);
    picture.fill(Qt::transparent);
    if (m_bands.empty() || m_bands.front().values.empty()) return picture;
    const Theme& theme = Theme::of(this);
    QPainter painter(&picture);
    const std::size_t columns = m_bands.front().values.size();
    const double wide = area.width() / static_cast<double>(columns);
    std::vector<double> below(columns, 0.0);
    for (const AreaBand& band : m_bands) {
        const Fill& fill = theme.fill(band.meaning);
        for (std::size_t i = 0; i < columns; ++i) {
            if (band.values[i] <= 0) continue;
            const double bottom = area.height() * (1 - below[i] / m_highest);
            below[i] += band.values[i];
            const double top = area.height() * (1 - below[i] / m_highest);
            const double left = std::round(static_cast<double>(i) * wide * ratio) / ratio;
            const double right = std::round(static_cast<double>(i + 1) * wide * ratio) / ratio;
            const QRectF column(QPointF(left, top),
                                QPointF(std::max(right, left + 1 / ratio), bottom));
            painter.fillRect(column, fill.colour);
            if (fill.edge.isValid() && column.height() >= 4)
                painter.fillRect(QRectF(left, top, column.width(), 1), fill.edge);
        }
    }
    return picture;
}

void StackedArea::paintAxes(QPainter& painter) const {
    const Theme& theme = Theme::of(this);
    const QRectF area = plot();
    const int ticks = std::max(2, static_cast<int>(area.height() / 40));
    paintLeftAxis(
        painter, area, {0, m_highest}, binaryTicks(m_highest, ticks),
        [](double bytes) { return bytes > 0 ? formatBytes({std::llround(bytes)}) : u"0"_s; }, {},
        theme);
    painter.setFont(textFont(kSmallPixels, QFont::DemiBold));
    painter.setPen(theme.text);
    drawTabular(painter, QRectF(0, 0, kLeft + 200, 20), Qt::AlignLeft, m_title);
}

void StackedArea::paintLine(QPainter& painter) const {
    const QRectF area = plot();
    const std::size_t columns = m_line.values.size();
    if (columns == 0) return;
    QPolygonF line;
    for (std::size_t i = 0; i < columns; ++i) {
        const double wide = area.width() / static_cast<double>(columns);
        const double y = area.bottom() - area.height() * m_line.values[i] / m_highest;
        line << QPointF(area.left() + static_cast<double>(i) * wide, y)
             << QPointF(area.left() + static_cast<double>(i + 1) * wide, y);
    }
    painter.setPen(QPen(Theme::of(this).fill(m_line.meaning).colour, 1.6));
    painter.drawPolyline(line);
}

void StackedArea::paintLimit(QPainter& painter) const {
    if (m_limit <= 0 || m_limit > m_highest) return;
    const Theme& theme = Theme::of(this);
    const QRectF area = plot();
    const double y = std::round(area.bottom() - area.height() * m_limit / m_highest) + 0.5;
    painter.setPen(QPen(theme.bad, 1.4));
    painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
    painter.setFont(textFont(kSmallPixels - 1));
    drawTabular(painter, QRectF(area.left(), y + 2, area.width() - 4, 16), Qt::AlignRight,
                m_limitText);
}

void StackedArea::paintGaps(QPainter& painter) const {
    const QRectF area = plot();
    const TimeScale scale{m_range, area.width()};
    double painted = area.left();  // overlapping stretches are hatched once
    for (const AreaGap& gap : m_gaps) {
        const double left = std::max(painted, area.left() + scale.x(gap.range.begin));
        const double right = std::min(area.right(), area.left() + scale.x(gap.range.end));
        if (right - left < 1) continue;
        paintLeftOut(painter, QRectF(left, area.top(), right - left, area.height()), gap.word,
                     Theme::of(this));
        painted = right;
    }
}

void StackedArea::paintMarks(QPainter& painter) const {
    const Theme& theme = Theme::of(this);
    const QRectF area = plot();
    const TimeScale scale{m_range, area.width()};
    const double seconds = m_range.duration().seconds();
    const double begin = m_range.begin.seconds();
    const Duration step{static_cast<std::int64_t>(
        niceStep(seconds, std::max(2, static_cast<int>(area.width() / 96))) * 1e9)};
    paintBottomAxis(
        painter, area, {begin, begin + seconds},
        niceTicks(begin, begin + seconds, std::max(2, static_cast<int>(area.width() / 96))),
        [&](double at) { return formatInstant({std::llround(at * 1e9)}, step); }, {},
        QRectF(rect()), theme);
    painter.setFont(textFont(kSmallPixels - 1));
    double free = area.left();
    for (const AreaMark& mark : m_marks) {
        const double x = area.left() + scale.x(mark.time);
        if (x < free) continue;
        const double wide = tabularWidth(painter.font(), mark.text);
        if (x + wide > area.right()) break;  // those that follow lie further on
        painter.setPen(theme.hairline);
        painter.drawLine(QPointF(std::round(x) + 0.5, area.bottom()),
                         QPointF(std::round(x) + 0.5, area.bottom() + 34));
        painter.setPen(theme.quietText);
        drawTabular(painter, QRectF(x + 4, area.bottom() + 21, wide, 14), Qt::AlignLeft, mark.text);
        free = x + wide + 20;
    }
}

void StackedArea::paintMoment(QPainter& painter) const {
    if (!m_moment || !m_range.contains(*m_moment)) return;
    const Theme& theme = Theme::of(this);
    const QRectF area = plot();
    const double x = std::round(area.left() + TimeScale{m_range, area.width()}.x(*m_moment)) + 0.5;
    painter.setPen(QPen(theme.window, 4));
    painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
    painter.setPen(QPen(theme.accent, 2));
    painter.drawLine(QPointF(x, area.top() - 4), QPointF(x, area.bottom() + 4));
}

void StackedArea::paintCursor(QPainter& painter) const {
    if (!m_cursor || columns() == 0) return;
    const Theme& theme = Theme::of(this);
    const QRectF area = plot();
    const double x = std::round(area.left() + *m_cursor * area.width()) + 0.5;
    if (m_dragFrom) {
        QColor tint = theme.accent;
        tint.setAlphaF(0.18F);
        const double from = area.left() + *m_dragFrom * area.width();
        painter.fillRect(QRectF(QPointF(std::min(x, from), area.top()),
                                QPointF(std::max(x, from), area.bottom())),
                         tint);
    }
    painter.setPen(QPen(theme.accent, 1));
    painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
    paintReadOut(painter, x);
}

/// Whole whatever the height: in columns where the lines do not fit below each other.
StackedArea::ReadOut StackedArea::readOut(double x) const {
    constexpr double kLine = 18, kColumn = 248, kInside = 6, kOutside = 4;
    ReadOut out;
    out.lines = cursorLines();
    const auto fit = static_cast<int>((height() - 2 * (kInside + kOutside)) / kLine);
    const auto count = static_cast<int>(out.lines.size());
    out.rows = std::clamp(fit, 1, std::max(1, count));
    const int columns = (count + out.rows - 1) / out.rows;
    out.line = {std::min(columns * kColumn, width() - 2 * kOutside) / columns, kLine};
    const QSizeF size(out.line.width() * columns, out.rows * kLine + 2 * kInside);
    const double beside = x + size.width() + 12 > plot().right() ? x - size.width() - 10 : x + 10;
    const double lowest = height() - size.height() - kOutside;
    out.box = {
        QPointF(std::clamp(beside, kOutside, std::max(kOutside, width() - size.width() - kOutside)),
                std::max(kOutside, std::min(plot().top(), lowest))),
        size};
    return out;
}

void StackedArea::paintReadOut(QPainter& painter, double x) const {
    const Theme& theme = Theme::of(this);
    const ReadOut out = readOut(x);
    painter.setPen(theme.hairline);
    painter.setBrush(theme.panel);
    painter.drawRoundedRect(out.box, kCornerRadius, kCornerRadius);
    painter.setPen(theme.text);
    for (int i = 0; i < static_cast<int>(out.lines.size()); ++i) {
        const auto& [name, value] = out.lines[static_cast<std::size_t>(i)];
        const int column = i / out.rows, row = i % out.rows;
        const QPointF corner(out.box.left() + column * out.line.width() + 10,
                             out.box.top() + 6 + row * out.line.height());
        const QRectF line(corner, out.line - QSizeF(20, 0));
        painter.setFont(textFont(kSmallPixels, i == 0 ? QFont::DemiBold : QFont::Normal));
        drawTabular(painter, line, Qt::AlignLeft, name);
        drawTabular(painter, line, Qt::AlignRight, value);
    }
}

void StackedArea::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    const QRectF area = plot();
    paintAxes(painter);
    if (m_picture.isNull()) m_picture = renderBands();
    painter.drawPixmap(area.topLeft(), m_picture);
    paintGaps(painter);
    paintLine(painter);
    paintLimit(painter);
    if (m_reference > 0) {
        const double y = std::round(area.bottom() - m_reference / m_highest * area.height()) + 0.5;
        painter.setPen(QPen(theme.text, 1.4, Qt::DashLine));
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
        painter.setFont(textFont(kSmallPixels));
        painter.setPen(theme.text);
        drawTabular(painter, QRectF(area.left(), 2, area.width(), 16), Qt::AlignRight,
                    m_referenceText);
    }
    if (m_peak && m_range.contains(*m_peak)) {
        const TimeScale scale{m_range, area.width()};
        const double x = area.left() + scale.x(*m_peak);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme.text);
        const QPolygonF arrow{QPointF(x - 4, area.top() - 8), QPointF(x + 4, area.top() - 8),
                              QPointF(x, area.top() - 2)};
        painter.drawPolygon(arrow);
        painter.setRenderHint(QPainter::Antialiasing, false);
        painter.setFont(textFont(kSmallPixels));
        painter.setPen(theme.text);
        const double wide = tabularWidth(painter.font(), m_peakText);
        // What the reference says stands at the right.
        const double right = area.right() - tabularWidth(painter.font(), m_referenceText) - 16;
        const double left = x + wide + 16 > right ? std::min(x - 8, right) - wide : x + 8;
        drawTabular(painter, QRectF(left, 6, wide, 16), Qt::AlignLeft, m_peakText);
    }
    if (m_showsAxis) paintMarks(painter);
    paintMoment(painter);
    paintCursor(painter);
    if (hasFocus()) paintFocus(painter, area.adjusted(-0.5, -0.5, 0.5, 0.5), theme);
}

void StackedArea::resizeEvent(QResizeEvent*) {
    m_picture = QPixmap();
    Q_EMIT plotResized();
}

void StackedArea::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) m_picture = QPixmap();
}

void StackedArea::mouseMoveEvent(QMouseEvent* event) {
    const QRectF area = plot();
    const double share = (event->position().x() - area.left()) / area.width();
    if (m_dragFrom) {
        Q_EMIT cursorMoved(std::clamp(share, 0.0, 1.0));
    } else if (area.contains(event->position())) {
        Q_EMIT cursorMoved(share);
    } else {
        Q_EMIT cursorMoved(std::nullopt);
    }
}

void StackedArea::mousePressEvent(QMouseEvent* event) {
    const QRectF area = plot();
    if (event->button() == Qt::LeftButton && area.contains(event->position())) {
        m_dragFrom = (event->position().x() - area.left()) / area.width();
    }
}

void StackedArea::mouseReleaseEvent(QMouseEvent* event) {
    if (!m_dragFrom) return;
    const QRectF area = plot();
    const double from = *m_dragFrom * area.width();
    const double to = std::clamp(event->position().x() - area.left(), 0.0, area.width());
    m_dragFrom.reset();
    update();
    const TimeScale scale{m_range, area.width()};
    if (std::abs(to - from) < kClick) {
        const bool isPeak = m_peak && std::abs(scale.x(*m_peak) - to) <= kPeakReach;
        Q_EMIT timePicked(isPeak ? *m_peak : scale.time(to));
        return;
    }
    Q_EMIT rangeSelected({scale.time(std::min(from, to)), scale.time(std::max(from, to))});
}

void StackedArea::leaveEvent(QEvent*) {
    if (!hasFocus()) Q_EMIT cursorMoved(std::nullopt);
}

/// From column to column, ten at once with Shift; Enter is a click there.
void StackedArea::keyPressEvent(QKeyEvent* event) {
    if (columns() == 0) return QWidget::keyPressEvent(event);
    const int at = m_cursor ? static_cast<int>(std::floor(*m_cursor * columns())) : -1;
    if (isActivation(event->key()) && at >= 0) {
        Q_EMIT timePicked(TimeScale{m_range, static_cast<double>(columns())}.time(at + 0.5));
        return;
    }
    const int stride = event->modifiers().testFlag(Qt::ShiftModifier) ? kLongStride : 1;
    const auto column = movedCursor(event->key(), at, columns(), Qt::Horizontal, stride);
    if (!column) return QWidget::keyPressEvent(event);
    Q_EMIT cursorMoved((*column + 0.5) / columns());
}

void StackedArea::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    update();
}

void StackedArea::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    Q_EMIT cursorMoved(std::nullopt);
    update();
}

}  // namespace shardscope::desktop
