// Widgets as lines and text on any painter. GUI thread.
#pragma once

#include <QPoint>

class QPainter;
class QWidget;

namespace shardscope::desktop {

/// `widget` and all that is seen in it, its upper left corner at `at`. No scroll bar; what scrolls
/// is drawn as far as it is in sight, in pixels, since not every file of pictures knows clipping.
void paintWidget(QWidget& widget, QPainter& painter, QPoint at);

}  // namespace shardscope::desktop
