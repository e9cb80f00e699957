#include "app/desktop/widgets/scrolling.h"

#include <QScrollArea>
#include <QScrollBar>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

namespace {

class ColumnArea : public QScrollArea {
public:
    using QScrollArea::QScrollArea;
    [[nodiscard]] QSize minimumSizeHint() const override {
        const QSize least = QScrollArea::minimumSizeHint();
        if (widget() == nullptr) return least;
        return {widget()->minimumSizeHint().width() + verticalScrollBar()->sizeHint().width(),
                least.height()};
    }
};

}  // namespace

void hideIdleHandle(QScrollBar* bar) {
    const auto present = [bar](int, int maximum) {
        bar->setStyleSheet(maximum > 0 ? QString()
                                       : u"QScrollBar::handle { background: transparent; }"_s);
    };
    present(0, bar->maximum());
    QObject::connect(bar, &QScrollBar::rangeChanged, bar, present);
}

QWidget* scrollingColumn(QWidget* content, QWidget* parent) {
    auto* scroll = new ColumnArea(parent);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
    hideIdleHandle(scroll->verticalScrollBar());
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->viewport()->setAutoFillBackground(false);
    scroll->setWidget(content);
    content->setAutoFillBackground(false);
    return scroll;
}

}  // namespace shardscope::desktop
