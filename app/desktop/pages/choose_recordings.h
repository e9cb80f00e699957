// Lets the user choose recordings or traces, to look at beside the open one. GUI thread.
#pragma once

#include <QString>
#include <QStringList>
#include <functional>

class QWidget;

namespace shardscope::desktop {

/// `take` hears of the files that are chosen, unless `parent` has gone meanwhile.
void chooseRecordings(QWidget* parent, const QString& title,
                      const std::function<void(const QStringList&)>& take);

}  // namespace shardscope::desktop
