#include "app/desktop/widgets/pictures/stacked_bars.h"

#include "app/desktop/widgets/axis.h"
#include "app/desktop/widgets/painting.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kBar = 24;
constexpr int kPitch = 32;
constexpr int kAxisHeight = 40;
constexpr int kLabelGap = 12;
constexpr int kMostLabelWidth = 240;

constexpr int kHead = 24;  ///< of mirrored bars: what the sides are
constexpr int kMirroredPitch = 26;
constexpr int kMirroredBar = 18;

}  // namespace

StackedBars::StackedBars(QWidget* parent) : Picture(parent, Qt::Vertical, Cursor::kOfKeys) {
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void StackedBars::setBars(std::vector<StackedBar> bars) {
    m_bars = std::move(bars);
    QStringList words;
    double widest = 0;
    for (const StackedBar& bar : m_bars) {
        words << u"%1 %2"_s.arg(bar.label, bar.total);
        widest = std::max(widest, tabularWidth(textFont(kTextPixels), bar.label));
    }
    m_labelWidth = std::clamp(static_cast<int>(std::ceil(widest)) + kLabelGap, m_leastLabelWidth,
                              kMostLabelWidth);
    describe({}, words.join(u", "_s));
    updateGeometry();
}

void StackedBars::setAxis(Axis axis) {
    m_axis = std::move(axis);
    updateGeometry();
    update();
}

void StackedBars::setLabelWidth(int pixels) {
    m_leastLabelWidth = pixels;
    m_labelWidth = std::max(m_labelWidth, pixels);
    update();
}

QSize StackedBars::sizeHint() const {
    const int bars = std::max(1, static_cast<int>(m_bars.size()));
    return {400, bars * kPitch + (m_axis.title.isEmpty() ? 0 : kAxisHeight)};
}

QSize StackedBars::minimumSizeHint() const {
    return {200, sizeHint().height()};
}

double StackedBars::totalWidth() const {
    double widest = 0;
    for (const StackedBar& bar : m_bars) {
        widest = std::max(widest, tabularWidth(textFont(kTextPixels), bar.total));
    }
    return widest + 8;
}

double StackedBars::scale() const {
    double highest = 0;
    for (const StackedBar& bar : m_bars) highest = std::max({highest, bar.sum(), bar.mark});
    const double room = width() - m_labelWidth - totalWidth();
    return highest > 0 ? std::max(room, 10.0) / highest : 0;
}

void StackedBars::paintBar(QPainter& painter, int index) const {
    const Theme& theme = Theme::of(this);
    const StackedBar& bar = m_bars[static_cast<std::size_t>(index)];
    const double top = index * kPitch + (kPitch - kBar) / 2.0;
    painter.setFont(textFont(kTextPixels));
    painter.setPen(bar.emphasised ? theme.text : theme.quietText);
    const double room = m_labelWidth - 8;
    drawTabular(painter, QRectF(0, top, room, kBar), Qt::AlignLeft,
                QFontMetricsF(painter.font()).elidedText(bar.label, Qt::ElideRight, room));
    double x = m_labelWidth;
    painter.setOpacity(bar.emphasised ? 1.0 : 0.45);
    for (const BarSegment& segment : bar.segments) {
        const double wide = segment.value * scale();
        const QRectF area(x, top, std::max(wide - (wide > 4 ? 1 : 0), 0.5), kBar);
        const Fill fill = theme.fill(segment.meaning);
        paintFill(painter, area, fill, theme);
        const QString full = u"%1 %2"_s.arg(segment.name, segment.text);
        painter.setFont(textFont(kSmallPixels));
        painter.setPen(fill.hatched ? theme.text : Theme::textOn(fill.colour));
        for (const QString& text : {full, segment.text}) {
            if (fill.hatched || !bar.emphasised ||
                tabularWidth(painter.font(), text) + 16 > area.width())
                continue;
            drawTabular(painter, area.adjusted(8, 0, -8, 0), Qt::AlignLeft, text);
            break;
        }
        x += wide;
    }
    painter.setOpacity(1.0);
    if (bar.mark > 0) {
        const double at = m_labelWidth + bar.mark * scale();
        painter.setPen(QPen(theme.text, 1.4, Qt::DashLine));
        painter.drawLine(QPointF(at, top - 3), QPointF(at, top + kBar + 3));
        x = std::max(x, at);
    }
    painter.setFont(textFont(kTextPixels));
    painter.setPen(theme.quietText);
    drawTabular(painter, QRectF(x + 8, top, totalWidth() + 8, kBar), Qt::AlignLeft, bar.total);
}

void StackedBars::paintAxis(QPainter& painter) const {
    if (m_axis.title.isEmpty() || scale() <= 0) return;
    const Theme& theme = Theme::of(this);
    const double room = width() - m_labelWidth - totalWidth();
    const double top = static_cast<double>(m_bars.size()) * kPitch + 2;
    painter.setFont(textFont(kSmallPixels - 1));
    const auto ticks = m_axis.ticks(room / scale(), std::max(2, static_cast<int>(room / 96)));
    for (double value : ticks) {
        const double x = std::round(m_labelWidth + value * scale()) + 0.5;
        painter.setPen(theme.quietText);
        painter.drawLine(QPointF(x, top), QPointF(x, top + 4));
        drawTabular(painter, QRectF(x - 40, top + 5, 80, 14), Qt::AlignHCenter,
                    m_axis.text(value, tickStep(ticks)));
    }
    painter.setPen(theme.quietText);
    drawTabular(painter, QRectF(m_labelWidth, top + 20, room, 14), Qt::AlignRight, m_axis.title);
}

void StackedBars::paint(QPainter& painter) {
    for (int bar = 0; bar < count(); ++bar) paintBar(painter, bar);
    paintAxis(painter);
}

QRectF StackedBars::placeOf(int bar) const {
    return {0, static_cast<double>(bar * kPitch), static_cast<double>(width()), kPitch};
}

QString StackedBars::textOf(int bar) const {
    const StackedBar& shown = m_bars[static_cast<std::size_t>(bar)];
    QStringList parts{u"%1: %2"_s.arg(shown.label, shown.total)};
    for (const BarSegment& segment : shown.segments)
        parts << u"%1 %2"_s.arg(segment.name, segment.text);
    return parts.join(u" · "_s);
}

/// Of the segment there; on its label, of the bar.
QString StackedBars::textAt(QPointF at) const {
    const int index = itemAt(at);
    if (index < 0) return {};
    const StackedBar& bar = m_bars[static_cast<std::size_t>(index)];
    double x = at.x() - m_labelWidth;
    if (x < 0) return textOf(index);
    for (const BarSegment& segment : bar.segments) {
        const double wide = segment.value * scale();
        if (x >= 0 && x < wide) return u"%1: %2 %3"_s.arg(bar.label, segment.name, segment.text);
        x -= wide;
    }
    return {};
}

MirroredBars::MirroredBars(QWidget* parent)
    : Picture(parent, Qt::Vertical, Cursor::kFollowsPointer) {
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void MirroredBars::setBars(std::vector<MirroredBar> bars) {
    m_bars = std::move(bars);
    describeAll();
    updateGeometry();
}

void MirroredBars::describeAll() {
    QStringList all;
    for (int row = 0; row < count(); ++row) all << textOf(row);
    describe(tr("%1 against %2").arg(m_left, m_right), all.join(u"; "_s));
}

void MirroredBars::setTitles(const QString& left, const QString& right, const QString& difference) {
    m_left = left;
    m_right = right;
    m_difference = difference;
    describeAll();
}

QSize MirroredBars::sizeHint() const {
    return {480, kHead + static_cast<int>(m_bars.size()) * kMirroredPitch};
}

QSize MirroredBars::minimumSizeHint() const {
    return {320, sizeHint().height()};
}

QString MirroredBars::textOf(int row) const {
    const MirroredBar& bar = m_bars[static_cast<std::size_t>(row)];
    return u"%1: %2 %3, %4 %5, %6"_s.arg(bar.name, m_left, bar.leftText, m_right, bar.rightText,
                                         bar.difference);
}

MirroredBars::Columns MirroredBars::columns() const {
    double names = 0, texts = 0, differences = tabularWidth(textFont(kSmallPixels), m_difference);
    for (const MirroredBar& bar : m_bars) {
        names = std::max(names, tabularWidth(textFont(kTextPixels), bar.name));
        for (const QString& text : {bar.leftText, bar.rightText})
            texts = std::max(texts, tabularWidth(textFont(kSmallPixels), text));
        differences = std::max(differences, tabularWidth(textFont(kSmallPixels), bar.difference));
    }
    Columns at{names + 36, 0, 0, width() - differences - 2};
    const double room = at.differenceLeft - kGapGroup - at.nameWidth;
    at.middle = at.nameWidth + room / 2;
    at.side = std::max(16.0, room / 2 - texts - 12);
    return at;
}

QRectF MirroredBars::placeOf(int row) const {
    return {0, static_cast<double>(kHead + row * kMirroredPitch), static_cast<double>(width()),
            kMirroredPitch};
}

void MirroredBars::paintRow(QPainter& painter, int row, const Columns& at, double highest) const {
    const Theme& theme = Theme::of(this);
    const MirroredBar& bar = m_bars[static_cast<std::size_t>(row)];
    const double top = kHead + row * kMirroredPitch + (kMirroredPitch - kMirroredBar) / 2.0;
    if (row == cursor()) {
        painter.setPen(hasFocus() ? QPen(theme.accent, 1) : QPen(Qt::NoPen));
        painter.setBrush(theme.panel);
        painter.drawRect(placeOf(row).adjusted(0.5, 0.5, -0.5, -0.5));
    }
    const Fill fill = theme.fill(bar.meaning);
    paintSwatch(painter, QRectF(4, top + 3, 12, 12), fill, theme);
    painter.setPen(theme.text);
    painter.setFont(textFont(kTextPixels));
    drawTabular(painter, QRectF(24, top, at.nameWidth - 24, kMirroredBar), Qt::AlignLeft, bar.name);
    const double left = at.side * bar.left / highest, right = at.side * bar.right / highest;
    if (left > 0)
        paintFill(painter, QRectF(at.middle - 1 - left, top, left, kMirroredBar), fill, theme);
    if (right > 0) paintFill(painter, QRectF(at.middle + 1, top, right, kMirroredBar), fill, theme);
    painter.setPen(theme.quietText);
    painter.setFont(textFont(kSmallPixels));
    drawTabular(painter,
                QRectF(at.nameWidth, top, at.middle - left - 8 - at.nameWidth, kMirroredBar),
                Qt::AlignRight, bar.leftText);
    drawTabular(painter, QRectF(at.middle + right + 8, top, at.side, kMirroredBar), Qt::AlignLeft,
                bar.rightText);
    drawTabular(painter, QRectF(at.differenceLeft, top, width() - at.differenceLeft, kMirroredBar),
                Qt::AlignRight, bar.difference);
}

void MirroredBars::paint(QPainter& painter) {
    const Theme& theme = Theme::of(this);
    const Columns at = columns();
    double highest = 0;
    for (const MirroredBar& bar : m_bars) highest = std::max({highest, bar.left, bar.right});
    if (highest <= 0) highest = 1;
    for (int row = 0; row < count(); ++row) paintRow(painter, row, at, highest);
    painter.setPen(theme.quietText);
    painter.setFont(textFont(kSmallPixels));
    drawTabular(painter, QRectF(at.nameWidth, 0, at.middle - 8 - at.nameWidth, kHead),
                Qt::AlignRight, m_left);
    drawTabular(painter, QRectF(at.middle + 8, 0, at.side, kHead), Qt::AlignLeft, m_right);
    drawTabular(painter, QRectF(at.differenceLeft, 0, width() - at.differenceLeft, kHead),
                Qt::AlignRight, m_difference);
    painter.setPen(theme.hairline);
    painter.drawLine(QPointF(at.middle, kHead), QPointF(at.middle, height()));
}

}  // namespace shardscope::desktop
