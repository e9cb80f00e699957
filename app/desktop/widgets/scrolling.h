// Columns that scroll, and scroll bars that leave their place free when there is nothing to scroll.
// GUI thread.
#pragma once

class QScrollBar;
class QWidget;

namespace shardscope::desktop {

void hideIdleHandle(QScrollBar* bar);

/// `content` in a column that scrolls up and down alone, no narrower than what it holds. Owned by
/// `parent`.
[[nodiscard]] QWidget* scrollingColumn(QWidget* content, QWidget* parent);

}  // namespace shardscope::desktop
