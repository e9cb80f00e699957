// A stack that needs the room of the widget that is seen, not of the largest. GUI thread.
#pragma once

#include <QStackedWidget>

namespace shardscope::desktop {

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
