// What scrolls only where its widget would be squeezed below its least size, and can therefore be
// made as small as one likes. GUI thread.
#pragma once

#include <QScrollArea>

namespace shardscope::desktop {

class PlainArea : public QScrollArea {
public:
    explicit PlainArea(QWidget* parent = nullptr) : QScrollArea(parent) {
        setWidgetResizable(true);
        setFrameShape(QFrame::NoFrame);
        setFocusPolicy(Qt::NoFocus);
        viewport()->setAutoFillBackground(false);
    }
    [[nodiscard]] QSize minimumSizeHint() const override { return {kLeast, kLeast}; }
    [[nodiscard]] QSize sizeHint() const override {
        return widget() != nullptr ? widget()->sizeHint() : minimumSizeHint();
    }

private:
    static constexpr int kLeast = 160;
};

}  // namespace shardscope::desktop
