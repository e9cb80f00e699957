// A double click that leaves nothing behind.
#pragma once

#include <QTest>

namespace shardscope::desktop {

/// QTest itself keeps the button pressed, so that the pointer's next move would be a drag, in
/// another test of the process too.
inline void doubleClick(QWidget* widget, QPoint at = {}, Qt::MouseButton button = Qt::LeftButton) {
    QTest::mouseDClick(widget, button, {}, at);
    QTest::mouseRelease(widget, button, {}, at);
}

}  // namespace shardscope::desktop
