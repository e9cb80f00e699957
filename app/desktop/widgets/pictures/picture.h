// The base of widgets that draw items which one can step through: bars, columns, cells, spans,
// gauges. It owns what they have in common: the cursor, its keys, hovering, tooltips, the outline
// of the focus, and what a screen reader says. A picture says how many items there are, where they
// lie and what they are, and paints them. GUI thread.
//
// Pointer: hovering says what an item is, a click activates it. Keys: Left and Right, or Up and
// Down, Home and End go from item to item, Enter or Space activates.
#pragma once

#include "app/desktop/widgets/pictures/spoken_picture.h"

#include <QRectF>
#include <QWidget>
#include <optional>

namespace shardscope::desktop {

class Picture : public QWidget {
    Q_OBJECT

public:
    /// What hovering says of the item at the cursor; empty without one.
    [[nodiscard]] QString cursorText() const { return m_cursor < 0 ? QString() : textOf(m_cursor); }

Q_SIGNALS:
    /// By a click or a key.
    void activated(int item);
    /// Of what the pointer or the cursor is on; empty: of nothing.
    void hovered(const QString& text);

protected:
    /// Whether hovering moves the cursor, or says something and leaves it where keys led it.
    enum class Cursor { kFollowsPointer, kOfKeys };
    Picture(QWidget* parent, Qt::Orientation keys, Cursor kind);

    [[nodiscard]] virtual int count() const = 0;
    [[nodiscard]] virtual QRectF placeOf(int item) const = 0;
    /// Its parts stand between " · ", which are lines in a tooltip.
    [[nodiscard]] virtual QString textOf(int item) const = 0;
    virtual void paint(QPainter& painter) = 0;

    /// -1: none.
    [[nodiscard]] virtual int itemAt(QPointF at) const;
    /// What is hovered; of an item unless a part of it says more.
    [[nodiscard]] virtual QString textAt(QPointF at) const;
    /// The item that `key` leads to; nullopt: it leads nowhere.
    [[nodiscard]] virtual std::optional<int> itemByKey(int key) const;
    virtual void activate(int item) { Q_EMIT activated(item); }
    /// Outlined while the focus is here and the cursor on no item.
    [[nodiscard]] virtual QRectF frame() const;
    virtual void paintCursor(QPainter& painter, const QRectF& place) const;

    /// After new items or titles. An empty `name` leaves that which was set from outside. The
    /// cursor stays where it is while there are as many items: they are shown in another light.
    void describe(const QString& name, const QString& summary);
    [[nodiscard]] int cursor() const { return m_cursor; }

    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    void moveCursor(int item);
    void say(const QString& text);
    void showTip(const QString& text, QPoint at);

    SpokenPicture m_spoken{*this};
    Qt::Orientation m_keys;
    Cursor m_kind;
    int m_cursor = -1;
    int m_counted = 0;  ///< items when last described
    QString m_said;     ///< last, by `hovered`
};

/// From place `from` of `count` (-1: nowhere yet) to the one before or after it by Left and Right,
/// or Up and Down, `stride` places on, and to the ends by Home and End; nullopt: `key` leads
/// nowhere.
[[nodiscard]] std::optional<int> movedCursor(int key, int from, int count,
                                             Qt::Orientation orientation, int stride = 1);

/// Enter or Space: does what a click there does.
[[nodiscard]] bool isActivation(int key);

}  // namespace shardscope::desktop
