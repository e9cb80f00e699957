#include "app/desktop/widgets/mirrored_bars.h"

#include "app/desktop/widgets/painting.h"

#include <algorithm>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kHead = 24;
constexpr int kPitch = 26;
constexpr int kBar = 18;

}  // namespace

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
    return {480, kHead + static_cast<int>(m_bars.size()) * kPitch};
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
    return {0, static_cast<double>(kHead + row * kPitch), static_cast<double>(width()), kPitch};
}

void MirroredBars::paintRow(QPainter& painter, int row, const Columns& at, double highest) const {
    const Theme& theme = Theme::of(this);
    const MirroredBar& bar = m_bars[static_cast<std::size_t>(row)];
    const double top = kHead + row * kPitch + (kPitch - kBar) / 2.0;
    if (row == cursor()) {
        painter.setPen(hasFocus() ? QPen(theme.accent, 1) : QPen(Qt::NoPen));
        painter.setBrush(theme.panel);
        painter.drawRect(placeOf(row).adjusted(0.5, 0.5, -0.5, -0.5));
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
