#include "app/desktop/shell/run_desktop.h"

#include "app/desktop/models/write_file.h"
#include "app/desktop/shell/app_options.h"
#include "app/desktop/shell/main_window.h"
#include "app/desktop/widgets/icon.h"
#include "app/desktop/widgets/picture_file.h"
#include "app/desktop/widgets/theme.h"
#include "storage/model/plain_text.h"
#include "storage/recording/remote/remote_address.h"

#include <malloc.h>

#include <QApplication>
#include <QBuffer>
#include <QCursor>
#include <QFileInfo>
#include <QPixmap>
#include <QScreen>
#include <QSettings>
#include <QTimer>
#include <cstdio>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

int say(const Error& error) {
    std::fprintf(stderr, "%s\n", quotedLines(error.message).c_str());
    return exitStatus(error);
}

/// Before anything is loaded: whether what is asked for may be written.
Result<void> checkPictures(const AppOptions& options) {
    for (const QString& path : {options.screenshot, options.dashboard}) {
        if (path.isEmpty()) continue;
        storage::OutputRequest request = pictureOutput(path, options.force);
        for (const QString& file : options.files + options.compared)
            request.inputs.push_back(systemPath(file));
        if (auto fine = storage::settleOutput(request); !fine) return failure(fine);
    }
    return {};
}

bool wantsDark(const AppOptions& options, const QSettings& settings) {
    if (options.dark) return *options.dark;
    const QVariant last = settings.value(u"dark"_s);
    // "as the system": Qt 6.4 knows no colour scheme, but the start-up palette follows it
    return last.isValid() ? last.toBool()
                          : QApplication::palette().color(QPalette::Window).lightnessF() < 0.5F;
}

/// Of the page that is shown, which is the dashboard.
Result<void> writeDashboard(MainWindow& window, const AppOptions& options) {
    const QSize size = options.sizeGiven ? options.size : pageSize(options.paper);
    Page* page = window.page(window.currentPage());
    auto written = writePicture(page->drawn(size, options.dark.value_or(false)), options.dashboard,
                                options.paper, options.force);
    if (written)
        std::printf("wrote %s\n",
                    printableLine(options.dashboard.toLocal8Bit().toStdString()).c_str());
    return written;
}

/// Once the window has its size, which shares are of.
void layOut(MainWindow& window, const AppOptions& options) {
    const LayoutPreset* preset = layoutPreset(options.layout);
    if (preset == nullptr) return;
    window.layouts().apply(*preset);
    if (!options.page.isEmpty()) window.showPage(options.page);
}

int drawAndEnd(MainWindow& window, const AppOptions& options) {
    ScreenshotJob job(window, [&options](MainWindow& shown) {
        return options.dashboard.isEmpty() ? writeWindow(shown, options.screenshot, options.force)
                                           : writeDashboard(shown, options);
    });
    QObject::connect(
        &job, &ScreenshotJob::done, qApp, [](int status) { QApplication::exit(status); },
        Qt::QueuedConnection);
    QCursor::setPos(options.size.width() * 2, options.size.height() * 2);  // nothing looks hovered
    window.resize(options.size);
    window.show();
    layOut(window, options);
    job.start();
    return QApplication::exec();
}

/// On its screen, with a frame round it.
QSize room(const MainWindow& window) {
    constexpr QSize kFrame{16, 48};
    return window.screen()->availableSize() - kFrame;
}

constexpr int kRoundMs = 30;
/// Layout, resize and their questions take a few turns of the event loop.
constexpr int kQuietRounds = 4;

/// The GUI's, which must not wait, and two for those that read.
constexpr int kHeaps = 3;

}  // namespace

int runDesktop(int argc, char** argv) {
    shareHeaps();
    choosePlatform(argc, argv);
    QApplication app(argc, argv);
    QApplication::setApplicationName(u"shardscope-desktop"_s);
    QApplication::setApplicationDisplayName(u"Shardscope"_s);
    QApplication::setApplicationVersion(QStringLiteral(SHARDSCOPE_VERSION));
    QApplication::setDesktopFileName(u"org.shardscope.shardscope"_s);
    QApplication::setWindowIcon(QIcon(u":/icons/shardscope.svg"_s));
    const auto parsed = parseOptions(QApplication::arguments());
    if (!parsed) return say(parsed.error());
    if (!*parsed) return 0;
    const AppOptions& options = **parsed;
    for (const QString& file : options.files) {
        if (storage::remote::isRemote(file.toStdString())) {
            if (auto address = storage::remote::parseAddress(file.toStdString()); !address)
                return say(address.error());
        } else if (!QFileInfo::exists(file)) {
            return say({ErrorCode::kUnreadable, "There is no file " + file.toStdString() +
                                                    ". Check its name, or start without one and "
                                                    "open it from the Start page."});
        }
    }
    if (auto fine = checkPictures(options); !fine) return say(fine.error());
    const UserFolders folders = userFolders();
    QSettings settings(folders.settingsFile, QSettings::IniFormat);
    const bool dark = wantsDark(options, settings);
    QApplication::setStyle(applicationStyle());
    QApplication::setFont(textFont(kTextPixels));
    const bool shows = options.screenshot.isEmpty() && options.dashboard.isEmpty();
    MainWindow window(folders, shows);
    window.useTheme(dark);
    window.setSshCommand(options.sshCommand);
    window.compared().set(options.compared);
    if (!options.files.isEmpty()) window.openFiles(options.files);
    if (!options.page.isEmpty()) window.showPage(options.page);
    if (!options.dashboard.isEmpty()) window.showPage(page_ids::kDashboard);
    if (!shows) return drawAndEnd(window, options);
    QObject::connect(&window, &MainWindow::themeChanged, &window,
                     [&](bool chosen) { settings.setValue(u"dark"_s, chosen); });
    window.resize(options.sizeGiven ? options.size : options.size.boundedTo(room(window)));
    if (!options.sizeGiven) window.restoreGeometry(settings.value(u"geometry"_s).toByteArray());
    window.show();
    layOut(window, options);
    const int status = QApplication::exec();
    settings.setValue(u"geometry"_s, window.saveGeometry());
    return status;
}

ScreenshotJob::ScreenshotJob(MainWindow& window, Write write, QObject* parent)
    : QObject(parent), m_window(window), m_write(std::move(write)) {
    connect(&window.loader(), &RecordingLoader::openFailed, this,
            [this](const QString&, const QString& message) {
                std::fprintf(stderr, "%s\n", quotedLines(message.toStdString()).c_str());
                m_done = true;
                Q_EMIT done(static_cast<int>(ErrorCode::kUnreadable));
            });
}

void ScreenshotJob::start() {
    QTimer::singleShot(kRoundMs, this, &ScreenshotJob::settle);
}

void ScreenshotJob::settle() {
    if (m_done) return;
    m_quietRounds = m_window.isIdle() ? m_quietRounds + 1 : 0;
    if (m_quietRounds < kQuietRounds) {
        QTimer::singleShot(kRoundMs, this, &ScreenshotJob::settle);
    } else {
        finish();
    }
}

void ScreenshotJob::finish() {
    m_done = true;
    const auto written = m_write(m_window);
    if (!written) std::fprintf(stderr, "%s\n", quotedLines(written.error().message).c_str());
    Q_EMIT done(written ? 0 : exitStatus(written.error()));
}

Result<void> writeWindow(MainWindow& window, const QString& path, bool overwrite) {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    if (!buffer.open(QIODevice::WriteOnly) || !window.grab().save(&buffer, "PNG"))
        return failure(ErrorCode::kFailure, path.toStdString() +
                                                " could not be written: there is no memory for it; "
                                                "choose a smaller --size");
    return writeFile(pictureOutput(path, overwrite), bytes);
}

void shareHeaps() {
    ::mallopt(M_ARENA_MAX, kHeaps);
}

}  // namespace shardscope::desktop
