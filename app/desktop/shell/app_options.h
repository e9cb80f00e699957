// The command line of shardscope-desktop.
#pragma once

#include "app/desktop/shell/commands.h"
#include "app/manual/program_help.h"
#include "storage/model/result.h"

#include <QCommandLineOption>
#include <QList>
#include <QSize>
#include <QString>
#include <QStringList>
#include <optional>

namespace shardscope::desktop {

inline constexpr const char* kPurpose = "Shows recordings of training runs, and starts new runs";
inline constexpr const char* kWhatToOpen =
    "What to open: a recording (.sscope), ssh://HOST/PATH, or whatever `shardscope import` reads: "
    "traces of other tools, several of them or a folder with one per rank.";
inline constexpr const char* kExample =
    "shardscope-desktop run.sscope --page timeline --screenshot timeline.png --size 1600x1000";

[[nodiscard]] QList<QCommandLineOption> optionList();

struct AppOptions {
    QStringList files;  ///< to open: one recording, or traces that become one
    QString sshCommand;
    QStringList compared;  ///< what it is compared with
    QString page;          ///< empty: Overview with a file, else Start
    QString layout;        ///< id of a preset; empty: as last time
    QString screenshot;    ///< PNG to write instead of showing a window
    QString dashboard;     ///< the same, of the dashboard: PNG, SVG or PDF
    bool force = false;    ///< a picture that is there may be replaced by these
    QString paper{QStringLiteral("a4")};
    QSize size{1440, 900};
    bool sizeGiven = false;
    std::optional<bool> dark;  ///< nullopt: as last time, else as the system
};

/// kUsage with a sentence. `--help` and `--version` print and are nullopt.
Result<std::optional<AppOptions>> parseOptions(const QStringList& arguments);

/// Without a display, or to take a screenshot, Qt must draw into memory; before QApplication.
void choosePlatform(int argc, char** argv);

// The options and keys of shardscope-desktop as app/manual takes them.

/// Keys are those of `commands`, group by group. GUI thread.
[[nodiscard]] manual::Program desktopHelp(const Commands& commands);

}  // namespace shardscope::desktop
