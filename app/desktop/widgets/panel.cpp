#include "app/desktop/widgets/panel.h"

#include "app/desktop/widgets/theme.h"

#include <QPainter>

namespace shardscope::desktop {

void Panel::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(Theme::of(this).panel);
    painter.drawRoundedRect(rect(), kCornerRadius, kCornerRadius);
}

}  // namespace shardscope::desktop
