#include "app/desktop/widgets/widget_picture.h"

#include "app/desktop/widgets/theme.h"

#include <QAbstractScrollArea>
#include <QPainter>
#include <QPixmap>
#include <QScrollBar>

namespace shardscope::desktop {
namespace {

constexpr int kFine = 2;  ///< pixels for each of the screen

bool reaches(const QScrollBar* bar) {
    return bar != nullptr && bar->maximum() > bar->minimum();
}

/// Of something that is larger than what is in sight of it.
bool isCut(const QWidget& widget) {
    const auto* area = qobject_cast<const QAbstractScrollArea*>(widget.parentWidget());
    return area != nullptr && area->viewport() == &widget &&
           (reaches(area->horizontalScrollBar()) || reaches(area->verticalScrollBar()));
}

void paintPixels(QWidget& widget, QPainter& painter, QPoint at) {
    QPixmap pixels(widget.size() * kFine);
    pixels.setDevicePixelRatio(kFine);
    pixels.fill(Theme::of(&widget).window);
    widget.render(&pixels, {}, {}, QWidget::DrawChildren);
    painter.drawPixmap(QRect(at, widget.size()), pixels);
}

}  // namespace

void paintWidget(QWidget& widget, QPainter& painter, QPoint at) {
    if (widget.size().isEmpty()) return;
    if (isCut(widget)) return paintPixels(widget, painter, at);
    widget.render(&painter, at, QRegion(widget.rect()), QWidget::RenderFlags());
    for (QObject* each : widget.children()) {
        auto* child = qobject_cast<QWidget*>(each);
        if (child == nullptr || child->isWindow() || child->isHidden()) continue;
        if (qobject_cast<QScrollBar*>(child) == nullptr)
            paintWidget(*child, painter, at + child->pos());
    }
}

}  // namespace shardscope::desktop
