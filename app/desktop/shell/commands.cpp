#include "app/desktop/shell/commands.h"

#include "app/desktop/widgets/key_places.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMap>
#include <QMenu>
#include <QWidget>
#include <algorithm>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// A single ampersand would be the mark of a mnemonic.
QString menuText(QString text) {
    return text.replace(u'&', u"&&"_s);
}

/// The key of a command that a page handles itself is not a shortcut of its action; menus show what
/// stands behind a tab.
void addCommand(QMenu& menu, const Command& command) {
    QAction* shown = menu.addAction(menuText(command.name) +
                                    (command.keys.isEmpty() ? QString() : u'\t' + command.keys));
    shown->setEnabled(command.action->isEnabled());
    QObject::connect(shown, &QAction::triggered, command.action, &QAction::trigger);
}

bool isDigit(int key) {
    return key >= Qt::Key_0 && key <= Qt::Key_9;
}

bool isTypedInto(const QWidget* widget) {
    return widget != nullptr && widget->testAttribute(Qt::WA_InputMethodEnabled);
}

/// Which window's keys a window has: its own, and a floating panel those of what it belongs to, as
/// Qt's shortcuts have it. Null: it is not a window.
const QWidget* servedWindow(const QObject* object) {
    const auto* window = qobject_cast<const QWidget*>(object);
    if (window == nullptr || !window->isWindow()) return nullptr;
    while (window->windowType() == Qt::Tool && window->parentWidget() != nullptr)
        window = window->parentWidget()->window();
    return window;
}

}  // namespace

Commands::Commands(QWidget* window) : QObject(window), m_window(window) {}

QAction* Commands::add(const QString& id, const QString& group, const QString& name,
                       const QList<QKeySequence>& keys, std::function<void()> run) {
    auto* action = new QAction(name, m_window);
    action->setShortcuts(keys);
    action->setShortcutContext(Qt::WindowShortcut);
    connect(action, &QAction::triggered, this, [run = std::move(run)] { run(); });
    m_window->addAction(action);
    QStringList words;
    for (const QKeySequence& key : keys) words << key.toString(QKeySequence::NativeText);
    m_commands.push_back({id, group, name, action, words.join(u"  "_s)});
    return action;
}

QAction* Commands::addOfSeries(const QString& id, const QString& group, const QString& name,
                               const QKeySequence& keys, std::function<void()> run) {
    QAction* action = add(id, group, name, {keys}, std::move(run));
    m_commands.back().inSeries = true;
    return action;
}

void Commands::addNote(const QString& group, const QString& keys, const QString& name,
                       std::function<void()> run) {
    if (!run) return m_commands.push_back({{}, group, name, nullptr, keys});
    auto* action = new QAction(name, m_window);
    connect(action, &QAction::triggered, this, [run = std::move(run)] { run(); });
    m_commands.push_back({group + u'.' + name, group, name, action, keys});
}

void Commands::remove(const QString& id) {
    const auto found = std::find_if(m_commands.begin(), m_commands.end(),
                                    [&](const Command& each) { return each.id == id; });
    if (found == m_commands.end()) return;
    if (found->action != nullptr) found->action->deleteLater();  // it may be what asks
    m_commands.erase(found);
}

QAction* Commands::find(const QString& id) const {
    for (const Command& command : m_commands) {
        if (command.id == id) return command.action;
    }
    return nullptr;
}

QMenu* commandMenu(const Commands& commands, QWidget* parent) {
    auto* menu = new QMenu(parent);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->setAccessibleName(QMenu::tr("Commands"));
    QMap<QString, QMenu*> groups;
    for (const Command& command : commands.all()) {
        if (command.action == nullptr) continue;
        QMenu*& group = groups[command.group];
        if (group == nullptr) group = menu->addMenu(menuText(command.group));
        addCommand(*group, command);
    }
    return menu;
}

DigitKeys::DigitKeys(const Commands& commands, QWidget* window)
    : QObject(window), m_commands(commands), m_window(window) {
    qApp->installEventFilter(this);
}

/// A press is offered as a ShortcutOverride first: one that reaches the window is wanted by no
/// widget, and what accepts it keeps Qt from looking for its own shortcut.
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
