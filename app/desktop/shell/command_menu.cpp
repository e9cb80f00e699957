#include "app/desktop/shell/command_menu.h"

#include "app/desktop/shell/commands.h"

#include <QMap>
#include <QMenu>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// A single ampersand would be the mark of a mnemonic.
QString menuText(QString text) {
    return text.replace(u'&', u"&&"_s);
}

/// The key of a command that a page handles itself is no shortcut of its action; menus show what
/// stands behind a tab.
void addCommand(QMenu& menu, const Command& command) {
    QAction* shown = menu.addAction(menuText(command.name) +
                                    (command.keys.isEmpty() ? QString() : u'\t' + command.keys));
    shown->setEnabled(command.action->isEnabled());
    QObject::connect(shown, &QAction::triggered, command.action, &QAction::trigger);
}

}  // namespace

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

}  // namespace shardscope::desktop
