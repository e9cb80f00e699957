// A column of widgets without a margin of its own. GUI thread.
#pragma once

#include "app/desktop/widgets/theme.h"

#include <QVBoxLayout>

namespace shardscope::desktop {

/// Owned by `of`.
[[nodiscard]] inline QVBoxLayout* plainLayout(QWidget* of, int spacing = kGap) {
    auto* layout = new QVBoxLayout(of);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(spacing);
    return layout;
}

}  // namespace shardscope::desktop
