#include "app/desktop/widgets/pictures/picture.h"

#include "app/desktop/widgets/painting.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

Picture::Picture(QWidget* parent, Qt::Orientation keys, Cursor kind)
    : QWidget(parent), m_keys(keys), m_kind(kind) {
    setMouseTracking(true);
    setLayoutDirection(Qt::LeftToRight);  // as it is painted, in every language
    setFocusPolicy(Qt::StrongFocus);
}

int Picture::itemAt(QPointF at) const {
    for (int item = 0; item < count(); ++item)
        if (placeOf(item).contains(at)) return item;
    return -1;
}

QString Picture::textAt(QPointF at) const {
    const int item = itemAt(at);
    return item < 0 ? QString() : textOf(item);
}

std::optional<int> Picture::itemByKey(int key) const {
    return movedCursor(key, m_cursor, count(), m_keys);
}

QRectF Picture::frame() const {
    return QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
}

void Picture::paintCursor(QPainter& painter, const QRectF& place) const {
    const Theme& theme = Theme::of(this);
    painter.setPen(hasFocus() ? QPen(theme.accent, 2) : QPen(theme.text, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(place.adjusted(-1.5, -1.5, 0.5, 0.5));
}

void Picture::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    paint(painter);
    if (m_cursor >= 0 && (hasFocus() || m_kind == Cursor::kFollowsPointer))
        paintCursor(painter, placeOf(m_cursor));
    else if (hasFocus() && count() > 0)
        paintFocus(painter, frame(), Theme::of(this));
}

void Picture::describe(const QString& name, const QString& summary) {
    if (!name.isEmpty()) m_spoken.setName(name);
    m_spoken.setSummary(summary);
    if (count() != m_counted) m_cursor = -1;
    m_counted = count();
    m_spoken.setCurrent(cursorText());
    update();
}

void Picture::moveCursor(int item) {
    m_cursor = item;
    const QString text = cursorText();
    m_spoken.setCurrent(text);
    say(text);
    update();
}

void Picture::say(const QString& text) {
    if (text == m_said) return;
    m_said = text;
    Q_EMIT hovered(text);
}

void Picture::showTip(const QString& text, QPoint at) {
    if (text.isEmpty()) return QToolTip::hideText();
    QToolTip::showText(at, QString(text).replace(u" · "_s, u"\n"_s), this);
}

void Picture::mouseMoveEvent(QMouseEvent* event) {
    const QPointF at = event->position();
    const int item = itemAt(at);
    if (m_kind == Cursor::kFollowsPointer && item != m_cursor) moveCursor(item);
    const QString text = textAt(at);
    say(text);
    showTip(text, event->globalPosition().toPoint());
}

void Picture::mousePressEvent(QMouseEvent* event) {
    const int item = event->button() == Qt::LeftButton ? itemAt(event->position()) : -1;
    if (item < 0) return QWidget::mousePressEvent(event);
    moveCursor(item);
    activate(item);
}

void Picture::leaveEvent(QEvent*) {
    if (m_kind == Cursor::kFollowsPointer && !hasFocus()) moveCursor(-1);
    say(hasFocus() ? cursorText() : QString());
}

void Picture::keyPressEvent(QKeyEvent* event) {
    if (isActivation(event->key())) {
        if (m_cursor >= 0) activate(m_cursor);
        return;
    }
    const auto item = itemByKey(event->key());
    if (!item) return QWidget::keyPressEvent(event);
    moveCursor(*item);
    showTip(cursorText(), mapToGlobal(placeOf(*item).bottomLeft().toPoint()));
}

void Picture::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    update();
}

void Picture::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    moveCursor(-1);
}

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
