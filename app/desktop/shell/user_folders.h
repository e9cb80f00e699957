// Where the desktop keeps what belongs to the user (XDG base directories).
#pragma once

#include <QString>

namespace shardscope::desktop {

struct UserFolders {
    QString settingsFile;  ///< theme, window geometry
    QString recentFile;    ///< recently opened recordings
    QString recordings;    ///< new runs, unless said otherwise
    QString imports;       ///< recordings made of other tools' traces
};

[[nodiscard]] UserFolders userFolders();

}  // namespace shardscope::desktop
