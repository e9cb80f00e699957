// The command line of shardscope-desktop.
#pragma once

#include "storage/model/result.h"

#include <QSize>
#include <QString>
#include <QStringList>
#include <optional>

namespace shardscope::desktop {

struct AppOptions {
    QStringList files;  ///< to open: one recording, or traces that become one
    QString sshCommand;
    QStringList compared;  ///< what it is compared with
    QString page;          ///< empty: Overview with a file, else Start
    QString screenshot;    ///< PNG to write instead of showing a window
    QSize size{1440, 900};
    bool sizeGiven = false;
    std::optional<bool> dark;  ///< nullopt: as last time, else as the system
};

/// kUsage with a sentence. `--help` and `--version` print and are nullopt.
Result<std::optional<AppOptions>> parseOptions(const QStringList& arguments);

/// Without a display, or to take a screenshot, Qt must draw into memory; before QApplication.
void choosePlatform(int argc, char** argv);

}  // namespace shardscope::desktop
