// Lets the user choose recordings or traces, to look at beside the open one. GUI thread.
#pragma once

#include <QString>
#include <functional>

class QWidget;

namespace shardscope::desktop {

/// `take` hears each file that is chosen, unless `parent` has gone meanwhile.
void chooseRecordings(QWidget* parent, const QString& title,
                      const std::function<void(const QString&)>& take);

}  // namespace shardscope::desktop
