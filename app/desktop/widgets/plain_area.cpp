#include "app/desktop/widgets/plain_area.h"

#include <QEvent>

namespace shardscope::desktop {
namespace {

constexpr int kLeast = 160;

}  // namespace

PlainArea::PlainArea(QWidget* parent) : QScrollArea(parent) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus);
    viewport()->setAutoFillBackground(false);
}

void PlainArea::setSqueezes(bool squeezes) {
    m_squeezes = squeezes;
    fit();
}

QSize PlainArea::minimumSizeHint() const {
    return {kLeast, kLeast};
}

QSize PlainArea::sizeHint() const {
    return widget() != nullptr ? widget()->sizeHint() : minimumSizeHint();
}

bool PlainArea::eventFilter(QObject* watched, QEvent* event) {
    if (watched == widget() && event->type() == QEvent::LayoutRequest) fit();
    return QScrollArea::eventFilter(watched, event);
}

void PlainArea::resizeEvent(QResizeEvent* event) {
    QScrollArea::resizeEvent(event);
    fit();
}

void PlainArea::fit() {
    if (widget() == nullptr) return;
    const QSize least = m_squeezes ? QSize() : widget()->minimumSizeHint();
    widget()->resize(maximumViewportSize().expandedTo(least));
    // a bar in one direction takes room from the other
    if (viewport()->size() != maximumViewportSize())
        widget()->resize(viewport()->size().expandedTo(least));
}

}  // namespace shardscope::desktop
