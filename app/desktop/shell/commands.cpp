#include "app/desktop/shell/commands.h"

#include <QWidget>
#include <algorithm>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

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

}  // namespace shardscope::desktop
