#include "app/desktop/shell/digit_keys.h"

#include "app/desktop/shell/commands.h"
#include "app/desktop/widgets/key_places.h"

#include <QApplication>
#include <QKeyEvent>
#include <QWidget>
#include <utility>

namespace shardscope::desktop {
namespace {

bool isDigit(int key) {
    return key >= Qt::Key_0 && key <= Qt::Key_9;
}

bool isTypedInto(const QWidget* widget) {
    return widget != nullptr && widget->testAttribute(Qt::WA_InputMethodEnabled);
}

/// Which window's keys a window has: its own, and a floating panel those of what it belongs to, as
/// Qt's shortcuts have it. Null: it is no window.
const QWidget* servedWindow(const QObject* object) {
    const auto* window = qobject_cast<const QWidget*>(object);
    if (window == nullptr || !window->isWindow()) return nullptr;
    while (window->windowType() == Qt::Tool && window->parentWidget() != nullptr)
        window = window->parentWidget()->window();
    return window;
}

}  // namespace

DigitKeys::DigitKeys(const Commands& commands, QWidget* window)
    : QObject(window), m_commands(commands), m_window(window) {
    qApp->installEventFilter(this);
}

/// A press is offered as a ShortcutOverride first: one that reaches the window is wanted by no
/// widget, and what accepts it keeps Qt from looking for a shortcut of its own.
bool DigitKeys::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::ShortcutOverride && servedWindow(watched) == m_window) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (actionOf(*key) == nullptr) return false;
        m_claimed = key->nativeScanCode();
        event->accept();
        return true;
    }
    if (event->type() != QEvent::KeyPress || m_claimed == 0) return false;
    const auto* key = static_cast<QKeyEvent*>(event);
    if (std::exchange(m_claimed, 0) != key->nativeScanCode()) return false;
    if (QAction* action = actionOf(*key)) action->trigger();
    return true;
}

QAction* DigitKeys::actionOf(const QKeyEvent& key) const {
    const auto place = keyAtPlace(key.nativeScanCode());
    if (!place || !isDigit(*place) || isTypedInto(QApplication::focusWidget())) return nullptr;
    const Qt::KeyboardModifiers held = key.modifiers() & ~Qt::GroupSwitchModifier;
    // of Ctrl+Shift+1 on AZERTY Qt takes the Shift for the digit, and sees Ctrl+1
    const bool isPlain = !held.testFlag(Qt::ShiftModifier);
    if (isDigit(key.key()) && (isPlain || key.key() != *place)) return nullptr;
    const QKeySequence wanted(QKeyCombination(held, *place));
    for (const Command& command : m_commands.all())
        if (command.action != nullptr && command.action->isEnabled() &&
            command.action->shortcuts().contains(wanted))
            return command.action;
    return nullptr;
}

}  // namespace shardscope::desktop
