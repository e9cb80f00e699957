#include "app/desktop/widgets/pictures/span_rows.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/widgets/axis.h"
#include "app/desktop/widgets/painting.h"

#include <QFontMetricsF>
#include <algorithm>

namespace shardscope::desktop {
namespace {

constexpr double kLabels = 64;
constexpr double kAxis = 36;
constexpr double kMostRow = 28;
constexpr double kBetween = 4;
constexpr double kLeast = 0.8;  ///< of a span, in pixels, so that none is lost

}  // namespace

SpanRows::SpanRows(QWidget* parent) : Picture(parent, Qt::Horizontal, Cursor::kFollowsPointer) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void SpanRows::setRows(std::vector<SpanRow> rows, double end, const QString& title) {
    m_rows = std::move(rows);
    m_end = end > 0 ? end : 1;
    m_title = title;
    QStringList words;
    m_spans.clear();
    for (std::size_t row = 0; row < m_rows.size(); ++row) {
        const auto& spans = m_rows[row].spans;
        words << tr("%1: %2 stretches").arg(m_rows[row].label).arg(spans.size());
        for (std::size_t span = 0; span < spans.size(); ++span) m_spans.push_back({row, span});
    }
    describe({}, words.join(QStringLiteral("; ")) +
                     tr("; from 0 to %1 on %2").arg(formatNumber(m_end), title));
}

const RowSpan& SpanRows::spanOf(int item) const {
    const Place& place = m_spans[static_cast<std::size_t>(item)];
    return m_rows[place.row].spans[place.span];
}

QRectF SpanRows::plot() const {
    return QRectF(rect()).adjusted(kLabels, kGapSmall, -kGap, -kAxis);
}

QRectF SpanRows::rowArea(std::size_t row) const {
    const QRectF area = plot();
    const double each =
        std::min(area.height() / static_cast<double>(std::max<std::size_t>(m_rows.size(), 1)),
                 kMostRow + kBetween);
    return {area.left(), area.top() + each * static_cast<double>(row), area.width(),
            std::max(each - kBetween, 2.0)};
}

QRectF SpanRows::boxOf(const RowSpan& span, std::size_t row) const {
    const QRectF area = rowArea(row);
    const AxisRange range{0, m_end};
    const double left = range.position(span.begin, area.width());
    const double right = range.position(span.end, area.width());
    return {area.left() + left, area.top(), std::max(right - left, kLeast), area.height()};
}

QRectF SpanRows::placeOf(int item) const {
    return boxOf(spanOf(item), m_spans[static_cast<std::size_t>(item)].row);
}

void SpanRows::paintRow(QPainter& painter, std::size_t row) const {
    const Theme& theme = Theme::of(this);
    const QRectF area = rowArea(row);
    painter.setPen(theme.quietText);
    painter.drawText(QRectF(0, area.top(), kLabels - kGap, area.height()),
                     Qt::AlignRight | Qt::AlignVCenter, m_rows[row].label);
    const QFontMetricsF metrics(painter.font());
    for (const RowSpan& span : m_rows[row].spans) {
        const QRectF box = boxOf(span, row);
        const Fill fill = theme.fill(span.meaning);
        paintFill(painter, box, fill, theme);
        if (span.text.isEmpty() || metrics.horizontalAdvance(span.text) + kGapSmall > box.width())
            continue;
        painter.setPen(fill.hatched ? theme.text : Theme::textOn(fill.colour));
        painter.drawText(box, Qt::AlignCenter, span.text);
    }
}

void SpanRows::paint(QPainter& painter) {
    painter.setFont(textFont(kSmallPixels));
    const Theme& theme = Theme::of(this);
    QRectF area = plot();
    if (!m_rows.empty()) area.setBottom(rowArea(m_rows.size() - 1).bottom() + kBetween);
    const AxisRange range{0, m_end};
    const auto ticks = axisTicks(range, static_cast<int>(area.width() / 64));
    const double step = tickStep(ticks);
    paintBottomAxis(
        painter, area, range, ticks, [step](double value) { return formatTick(value, step); },
        m_title, QRectF(rect()), theme);
    for (std::size_t row = 0; row < m_rows.size(); ++row) paintRow(painter, row);
}

}  // namespace shardscope::desktop
