// Where Tab leads: as one reads, down each column and along each row, whatever was made first.
// Taken from the layouts when the key is pressed, so that what pages add and hide needs no upkeep.
// GUI thread.
#pragma once

#include <vector>

class QWidget;

namespace shardscope::desktop {

/// What Tab reaches in `window`, in reading order; the widget that has the focus is one of them.
[[nodiscard]] std::vector<QWidget*> tabStops(const QWidget& window);

/// To the next of them or the one before, round the ends; for QWidget::focusNextPrevChild() of a
/// window. False: there is no other.
bool moveFocus(QWidget& window, bool next);

}  // namespace shardscope::desktop
