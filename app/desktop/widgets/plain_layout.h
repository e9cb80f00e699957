// Layouts of widgets without a margin. GUI thread.
#pragma once

#include "app/desktop/widgets/theme.h"

#include <QStackedWidget>
#include <QVBoxLayout>
#include <QWidget>

namespace shardscope::desktop {

/// Owned by `of`.
[[nodiscard]] inline QVBoxLayout* plainLayout(QWidget* of, int spacing = kGap) {
    auto* layout = new QVBoxLayout(of);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(spacing);
    return layout;
}

/// A widget that holds `layout`, which then has no margin. Owned by `parent`.
[[nodiscard]] inline QWidget* plainBlock(QLayout* layout, QWidget* parent) {
    auto* block = new QWidget(parent);
    layout->setContentsMargins(0, 0, 0, 0);
    block->setLayout(layout);
    return block;
}

/// A stack that needs the room of the widget that is seen, not of the largest. GUI thread.
class CurrentStack : public QStackedWidget {
public:
    explicit CurrentStack(QWidget* parent = nullptr) : QStackedWidget(parent) {
        connect(this, &QStackedWidget::currentChanged, this, [this] { updateGeometry(); });
    }
    [[nodiscard]] QSize minimumSizeHint() const override {
        return currentWidget() != nullptr ? currentWidget()->minimumSizeHint() : QSize();
    }
};

}  // namespace shardscope::desktop
