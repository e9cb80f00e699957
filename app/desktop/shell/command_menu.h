// The menu of the window: every command of the registry, a submenu a group. GUI thread.
#pragma once

class QMenu;
class QWidget;

namespace shardscope::desktop {

class Commands;

/// Of what can be run now; the caller shows it. Deletes itself once it is closed.
QMenu* commandMenu(const Commands& commands, QWidget* parent);

}  // namespace shardscope::desktop
