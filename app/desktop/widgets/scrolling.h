// Scroll bars that leave their place free when there is nothing to scroll. GUI thread.
#pragma once

class QScrollBar;

namespace shardscope::desktop {

void hideIdleHandle(QScrollBar* bar);

}  // namespace shardscope::desktop
