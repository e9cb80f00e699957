#include "app/desktop/shell/user_folders.h"

#include <QDir>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// Qt 6.4 knows no state folder, so all three are found the same way.
QString xdgFolder(const char* variable, const QString& fallback) {
    const QString set = qEnvironmentVariable(variable);
    const QString base = QDir::isAbsolutePath(set) ? set : QDir::home().filePath(fallback);
    return QDir(base).filePath(u"shardscope"_s);
}

}  // namespace

UserFolders userFolders() {
    return {xdgFolder("XDG_CONFIG_HOME", u".config"_s) + u"/desktop.ini"_s,
            xdgFolder("XDG_STATE_HOME", u".local/state"_s) + u"/recent.json"_s,
            xdgFolder("XDG_DATA_HOME", u".local/share"_s) + u"/recordings"_s,
            xdgFolder("XDG_CACHE_HOME", u".cache"_s) + u"/imports"_s};
}

}  // namespace shardscope::desktop
