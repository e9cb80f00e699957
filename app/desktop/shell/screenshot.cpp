#include "app/desktop/shell/screenshot.h"

#include "app/desktop/shell/main_window.h"

#include <QPixmap>
#include <QTimer>
#include <cstdio>

namespace shardscope::desktop {
namespace {

constexpr int kRoundMs = 30;
/// Layout, resize and their questions take a few turns of the event loop.
constexpr int kQuietRounds = 4;

}  // namespace

ScreenshotJob::ScreenshotJob(MainWindow& window, const QString& path, QObject* parent)
    : QObject(parent), m_window(window), m_path(path) {
    connect(&window.loader(), &RecordingLoader::openFailed, this,
            [this](const QString&, const QString& message) {
                std::fprintf(stderr, "%s\n", message.toLocal8Bit().constData());
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
        grab();
    }
}

void ScreenshotJob::grab() {
    m_done = true;
    const bool saved = m_window.grab().save(m_path, "PNG");
    if (!saved) {
        std::fprintf(stderr, "%s could not be written; is its folder there and writable?\n",
                     m_path.toLocal8Bit().constData());
    }
    Q_EMIT done(saved ? 0 : static_cast<int>(ErrorCode::kFailure));
}

}  // namespace shardscope::desktop
