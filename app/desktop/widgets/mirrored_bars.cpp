#include "app/desktop/widgets/mirrored_bars.h"

#include "app/desktop/widgets/cursor_keys.h"
#include "app/desktop/widgets/painting.h"
#include "app/desktop/widgets/theme.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kHead = 24;
constexpr int kPitch = 26;
constexpr int kBar = 18;

}  // namespace

MirroredBars::MirroredBars(QWidget* parent) : QWidget(parent) {
    setMouseTracking(true);
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void MirroredBars::setBars(std::vector<MirroredBar> bars) {
    m_bars = std::move(bars);
    m_current = -1;
    QStringList all;
    for (int row = 0; row < static_cast<int>(m_bars.size()); ++row) all << words(row);
    m_spoken.setSummary(all.join(u"; "_s));
    m_spoken.setCurrent({});
    updateGeometry();
    update();
}

void MirroredBars::setTitles(const QString& left, const QString& right, const QString& difference) {
    m_left = left;
    m_right = right;
    m_difference = difference;
    m_spoken.setName(tr("%1 against %2").arg(left, right));
    update();
}

QSize MirroredBars::sizeHint() const {
    return {480, kHead + static_cast<int>(m_bars.size()) * kPitch};
}

QSize MirroredBars::minimumSizeHint() const {
    return {320, sizeHint().height()};
}

QString MirroredBars::words(int row) const {
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

int MirroredBars::rowAt(double y) const {
    const int row = static_cast<int>((y - kHead) / kPitch);
    return y >= kHead && row < static_cast<int>(m_bars.size()) ? row : -1;
}

void MirroredBars::paintRow(QPainter& painter, int row, const Columns& at, double highest) const {
    const Theme& theme = Theme::of(this);
    const MirroredBar& bar = m_bars[static_cast<std::size_t>(row)];
    const double top = kHead + row * kPitch + (kPitch - kBar) / 2.0;
    if (row == m_current) {
        painter.setPen(hasFocus() ? QPen(theme.accent, 1) : QPen(Qt::NoPen));
        painter.setBrush(theme.panel);
        painter.drawRect(QRectF(0.5, kHead + row * kPitch + 0.5, width() - 1, kPitch - 1));
    }
    const Fill fill = theme.fill(bar.meaning);
    paintSwatch(painter, QRectF(4, top + 3, 12, 12), fill, theme);
    painter.setPen(theme.text);
    painter.setFont(textFont(kTextPixels));
    drawTabular(painter, QRectF(24, top, at.nameWidth - 24, kBar), Qt::AlignLeft, bar.name);
    const double left = at.side * bar.left / highest, right = at.side * bar.right / highest;
    if (left > 0) paintFill(painter, QRectF(at.middle - 1 - left, top, left, kBar), fill, theme);
    if (right > 0) paintFill(painter, QRectF(at.middle + 1, top, right, kBar), fill, theme);
    painter.setPen(theme.quietText);
    painter.setFont(textFont(kSmallPixels));
    drawTabular(painter, QRectF(at.nameWidth, top, at.middle - left - 8 - at.nameWidth, kBar),
                Qt::AlignRight, bar.leftText);
    drawTabular(painter, QRectF(at.middle + right + 8, top, at.side, kBar), Qt::AlignLeft,
                bar.rightText);
    drawTabular(painter, QRectF(at.differenceLeft, top, width() - at.differenceLeft, kBar),
                Qt::AlignRight, bar.difference);
}

void MirroredBars::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    const Columns at = columns();
    double highest = 0;
    for (const MirroredBar& bar : m_bars) highest = std::max({highest, bar.left, bar.right});
    if (highest <= 0) highest = 1;
    for (int row = 0; row < static_cast<int>(m_bars.size()); ++row)
        paintRow(painter, row, at, highest);
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

void MirroredBars::mouseMoveEvent(QMouseEvent* event) {
    const int row = rowAt(event->position().y());
    if (row != m_current) setCurrent(row);
}

/// -1: none.
void MirroredBars::setCurrent(int row) {
    m_current = row;
    const QString text = row >= 0 ? words(row) : QString();
    m_spoken.setCurrent(text);
    Q_EMIT rowHovered(text);
    update();
}

void MirroredBars::keyPressEvent(QKeyEvent* event) {
    const auto row =
        movedCursor(event->key(), m_current, static_cast<int>(m_bars.size()), Qt::Vertical);
    if (!row) return QWidget::keyPressEvent(event);
    setCurrent(*row);
}

void MirroredBars::leaveEvent(QEvent*) {
    if (!hasFocus()) setCurrent(-1);
}

void MirroredBars::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    if (m_current < 0 && !m_bars.empty()) setCurrent(0);
    update();
}

void MirroredBars::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    setCurrent(-1);
}

}  // namespace shardscope::desktop
