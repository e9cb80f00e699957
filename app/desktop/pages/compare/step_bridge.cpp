#include "app/desktop/pages/compare/step_bridge.h"

#include "app/desktop/widgets/painting.h"
#include "app/desktop/widgets/theme.h"

#include <QPainter>
#include <QStringList>
#include <algorithm>
#include <array>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

StepBridge::StepBridge(QWidget* parent) : Picture(parent, Qt::Horizontal, Cursor::kFollowsPointer) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void StepBridge::setPairs(const std::vector<StepPair>& pairs, const QString& baseline,
                          const QString& judged) {
    m_pairs = pairs;
    m_baseline = baseline;
    m_judged = judged;
    QStringList all;
    for (int i = 0; i < std::min(count(), 8); ++i) all << textOf(i);
    if (count() > 8) all << tr("and %1 more").arg(count() - 8);
    describe(tr("Differences of the steps of both"), all.join(u"; "_s));
}

void StepBridge::setAxis(int left, const TimeScale& scale) {
    m_left = left;
    m_scale = scale;
    update();
}

QString StepBridge::textOf(int item) const {
    return pairText(m_pairs[static_cast<std::size_t>(item)], m_baseline, m_judged);
}

StepBridge::Borders StepBridge::bordersOf(const StepPair& pair) const {
    const TimeRange above = pair.baseline ? *pair.baseline : *pair.judged;
    const TimeRange below = pair.judged ? *pair.judged : *pair.baseline;
    const auto x = [this](Timestamp time) { return m_left + m_scale.x(time); };
    return {x(above.begin), x(above.end), x(below.begin), x(below.end)};
}

QRectF StepBridge::placeOf(int item) const {
    const Borders at = bordersOf(m_pairs[static_cast<std::size_t>(item)]);
    const QRectF all(QPointF((at.aboveLeft + at.belowLeft) / 2, 1),
                     QPointF((at.aboveRight + at.belowRight) / 2, height() - 1));
    return all.intersected(QRectF(m_left, 0, m_scale.width, height()));
}

void StepBridge::paintPair(QPainter& painter, int item) const {
    const Theme& theme = Theme::of(this);
    const StepPair& pair = m_pairs[static_cast<std::size_t>(item)];
    const Borders at = bordersOf(pair);
    QColor tint = theme.accent;
    tint.setAlphaF(item % 2 == 0 ? 0.16F : 0.08F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(tint);
    painter.drawPolygon(
        std::array{QPointF(at.aboveLeft, 0), QPointF(at.aboveRight, 0),
                   QPointF(at.belowRight, height()), QPointF(at.belowLeft, height())}
            .data(),
        4);
    painter.setPen(theme.quietText);
    painter.drawLine(QPointF(at.aboveLeft, 0), QPointF(at.belowLeft, height()));
    painter.drawLine(QPointF(at.aboveRight, 0), QPointF(at.belowRight, height()));
    const QRectF room = placeOf(item).adjusted(4, 0, -4, 0);
    const QString change = differenceText(pair);
    const QString number = tr("step %1: ").arg(pair.before.value);
    const QString none =
        pair.judged ? tr("not in %1").arg(m_baseline) : tr("not in %1").arg(m_judged);
    const QString what = change.isEmpty() ? none : change;
    painter.setPen(theme.text);
    for (const QString& text : {number + what, what, what.section(u" ("_s, 0, 0)}) {
        if (tabularWidth(painter.font(), text) > room.width()) continue;
        return drawTabular(painter, room, Qt::AlignCenter, text);
    }
}

void StepBridge::paint(QPainter& painter) {
    painter.setFont(textFont(kSmallPixels));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setClipRect(QRectF(m_left, 0, m_scale.width, height()));
    for (int item = 0; item < count(); ++item)
        if (placeOf(item).width() > 0) paintPair(painter, item);
    painter.setClipping(false);
    painter.setPen(Theme::of(this).quietText);
    painter.drawText(QRectF(16, 0, m_left - 20, height()), Qt::AlignLeft | Qt::AlignVCenter,
                     tr("%1 against %2").arg(m_judged, m_baseline));
    painter.setRenderHint(QPainter::Antialiasing, false);
}

}  // namespace shardscope::desktop
