// Writes the manual page and completions of shardscope-desktop into a folder. Run by the build.
#include "app/desktop/shell/app_options.h"
#include "app/desktop/shell/main_window.h"
#include "app/manual/write_pages.h"

#include <QApplication>
#include <QTemporaryDir>
#include <cstdio>

int main(int argc, char** argv) {
    using namespace shardscope;
    qputenv("QT_QPA_PLATFORM", "offscreen");
    const QApplication app(argc, argv);
    QApplication::setApplicationVersion(QStringLiteral(SHARDSCOPE_VERSION));
    if (argc != 2) {
        std::fputs("shardscope_desktop_pages FOLDER\n", stderr);
        return 2;
    }
    const QTemporaryDir empty;
    desktop::MainWindow window(
        {empty.filePath(QStringLiteral("settings")), empty.filePath(QStringLiteral("recent")),
         empty.path(), empty.path()},
        false);
    const auto done =
        manual::writePages(desktop::desktopHelp(window.commands()), {"shardscope(1)"}, argv[1]);
    if (done) return 0;
    std::fprintf(stderr, "shardscope_desktop_pages: %s\n", done.error().message.c_str());
    return 1;
}
