#include "app/desktop/widgets/legend.h"

#include "app/desktop/widgets/painting.h"
#include "app/desktop/widgets/pictures/spoken_picture.h"
#include "app/desktop/widgets/theme.h"

#include <QFontMetrics>
#include <QFontMetricsF>
#include <QPainter>
#include <QStringList>
#include <cmath>

namespace shardscope::desktop {
namespace {

constexpr int kLine = 20;
constexpr int kSwatch = 10;
constexpr int kSwatchGap = 6;
constexpr int kEntryGap = 16;

}  // namespace

Legend::Legend(QWidget* parent) : QWidget(parent) {
    setLayoutDirection(Qt::LeftToRight);  // as it is painted, in every language
    setAccessibleRole(*this, QAccessible::StaticText);
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void Legend::setEntries(std::vector<LegendEntry> entries) {
    m_entries = std::move(entries);
    QStringList names;
    for (const LegendEntry& entry : m_entries) names << entry.text;
    setAccessibleName(tr("Legend: %1").arg(names.join(QStringLiteral(", "))));
    fitTip();
    updateGeometry();
    update();
}

std::vector<QPointF> Legend::positions(int width) const {
    const QFontMetricsF metrics(textFont(kSmallPixels));
    std::vector<QPointF> result;
    double x = 0;
    double y = 0;
    for (const LegendEntry& entry : m_entries) {
        const double wide = kSwatch + kSwatchGap + metrics.horizontalAdvance(entry.text);
        if (x > 0 && x + wide > width) {
            x = 0;
            y += kLine;
        }
        result.emplace_back(x, y);
        x += wide + kEntryGap;
    }
    return result;
}

int Legend::lineWidth() const {
    const QFontMetricsF metrics(textFont(kSmallPixels));
    double wide = 0;
    for (const LegendEntry& entry : m_entries)
        wide += kSwatch + kSwatchGap + metrics.horizontalAdvance(entry.text) + kEntryGap;
    return static_cast<int>(std::ceil(wide));
}

QSize Legend::sizeHint() const {
    return {240, heightForWidth(std::max(width(), 240))};
}

int Legend::heightForWidth(int width) const {
    const auto places = positions(width);
    return places.empty() ? kLine : static_cast<int>(places.back().y()) + kLine;
}

/// Of an entry that is wider than all of it.
int Legend::roomOfText() const {
    return width() - kSwatch - kSwatchGap;
}

/// What does not fit is said on hover.
void Legend::fitTip() {
    const QFontMetrics metrics(textFont(kSmallPixels));
    QStringList cut;
    for (const LegendEntry& entry : m_entries)
        if (metrics.horizontalAdvance(entry.text) > roomOfText()) cut << entry.text;
    setToolTip(cut.join(QLatin1Char('\n')));
}

/// Layouts remember the height that another width asked for.
void Legend::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fitTip();
    if (height() != heightForWidth(width())) updateGeometry();
}

void Legend::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setFont(textFont(kSmallPixels));
    const auto places = positions(width());
    for (std::size_t i = 0; i < m_entries.size(); ++i) {
        const QRectF swatch(places[i].x(), places[i].y() + (kLine - kSwatch) / 2.0, kSwatch,
                            kSwatch);
        if (m_entries[i].dashed) {
            // theory has the text's colour; of several each has its own
            const Fill fill = theme.fill(m_entries[i].meaning);
            painter.setPen(
                QPen(fill.colour.isValid() ? fill.line() : theme.text, 1.2, Qt::DashLine));
            painter.drawLine(QPointF(swatch.left() - 2, swatch.center().y()),
                             QPointF(swatch.right() + 2, swatch.center().y()));
        } else if (m_entries[i].meaning == Meaning::kReserved) {
            painter.fillRect(QRectF(swatch.left() - 2, swatch.center().y() - 1, kSwatch + 4, 2),
                             theme.fill(Meaning::kReserved).colour);
        } else if (m_entries[i].meaning == Meaning::kNone) {
            // of no colour of its own: the edge of what is modelled
            painter.setPen(QPen(theme.quietText, 1, Qt::DotLine));
            painter.drawRect(swatch.adjusted(0.5, 0.5, -0.5, -0.5));
        } else {
            painter.setOpacity(m_entries[i].pale ? kPale : 1);
            paintSwatch(painter, swatch, theme.fill(m_entries[i].meaning), theme);
            painter.setOpacity(1);
        }
        painter.setPen(theme.quietText);
        const QRectF area(swatch.right() + kSwatchGap, places[i].y(), roomOfText(), kLine);
        painter.drawText(
            area, Qt::AlignLeft | Qt::AlignVCenter,
            painter.fontMetrics().elidedText(m_entries[i].text, Qt::ElideRight, roomOfText()));
    }
}

}  // namespace shardscope::desktop
