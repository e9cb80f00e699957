// What a widget that draws itself says to a screen reader: a name, figures of the whole, and what
// its cursor is on, which is spoken whenever it moves. GUI thread.
#pragma once

#include <QAccessible>
#include <QString>

class QWidget;

namespace shardscope::desktop {

/// Replaces the empty role of a bare widget. Call it before the role is queried.
void setAccessibleRole(QWidget& widget, QAccessible::Role role);

/// A member of the widget that it speaks for.
class SpokenPicture {
public:
    explicit SpokenPicture(QWidget& widget, QAccessible::Role role = QAccessible::Chart);

    /// What is shown, and over what, with units.
    void setName(const QString& name);
    /// Extremes, totals, how it is used: said while the cursor is nowhere.
    void setSummary(const QString& summary);
    /// What the cursor is on; empty: nowhere.
    void setCurrent(const QString& current);
    [[nodiscard]] const QString& current() const { return m_current; }

private:
    void tell();

    QWidget& m_widget;
    QString m_summary, m_current;
};

}  // namespace shardscope::desktop
