#include "app/desktop/widgets/pictures/spoken_picture.h"

#include <QAccessibleWidget>
#include <QVariant>
#include <QWidget>

namespace shardscope::desktop {
namespace {

constexpr const char* kRole = "accessibleRole";

/// Qt makes interfaces by class, whose roles are its own: of ours it knows none.
QAccessibleInterface* makeInterface(const QString&, QObject* object) {
    auto* widget = qobject_cast<QWidget*>(object);
    if (widget == nullptr) return nullptr;
    const QVariant role = widget->property(kRole);
    if (!role.isValid()) return nullptr;
    return new QAccessibleWidget(widget, static_cast<QAccessible::Role>(role.toInt()));
}

}  // namespace

void setAccessibleRole(QWidget& widget, QAccessible::Role role) {
    QAccessible::installFactory(makeInterface);  // one that is installed is not installed again
    widget.setProperty(kRole, static_cast<int>(role));
}

SpokenPicture::SpokenPicture(QWidget& widget, QAccessible::Role role) : m_widget(widget) {
    setAccessibleRole(widget, role);
}

void SpokenPicture::setName(const QString& name) {
    if (m_widget.accessibleName() != name) m_widget.setAccessibleName(name);
}

void SpokenPicture::setSummary(const QString& summary) {
    m_summary = summary;
    tell();
}

void SpokenPicture::setCurrent(const QString& current) {
    m_current = current;
    tell();
}

/// Qt notifies screen readers of each change of a description.
void SpokenPicture::tell() {
    const QString& text = m_current.isEmpty() ? m_summary : m_current;
    if (m_widget.accessibleDescription() != text) m_widget.setAccessibleDescription(text);
}

}  // namespace shardscope::desktop
