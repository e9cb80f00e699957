#include "app/desktop/widgets/cursor_keys.h"

#include <algorithm>

namespace shardscope::desktop {

std::optional<int> movedCursor(int key, int from, int count, Qt::Orientation orientation,
                               int stride) {
    if (count <= 0) return std::nullopt;
    const bool isAcross = orientation == Qt::Horizontal;
    if (key == Qt::Key_Home) return 0;
    if (key == Qt::Key_End) return count - 1;
    if (key == (isAcross ? Qt::Key_Left : Qt::Key_Up)) return std::max(0, from - stride);
    if (key != (isAcross ? Qt::Key_Right : Qt::Key_Down)) return std::nullopt;
    return from < 0 ? 0 : std::min(count - 1, from + stride);
}

bool isActivation(int key) {
    return key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Space;
}

}  // namespace shardscope::desktop
