#include "app/desktop/shell/screenshot.h"

#include "app/desktop/models/write_file.h"
#include "app/desktop/shell/main_window.h"
#include "app/desktop/widgets/picture_file.h"
#include "storage/model/plain_text.h"

#include <QBuffer>
#include <QPixmap>
#include <QTimer>
#include <cstdio>
#include <utility>

namespace shardscope::desktop {
namespace {

constexpr int kRoundMs = 30;
/// Layout, resize and their questions take a few turns of the event loop.
constexpr int kQuietRounds = 4;

}  // namespace

ScreenshotJob::ScreenshotJob(MainWindow& window, Write write, QObject* parent)
    : QObject(parent), m_window(window), m_write(std::move(write)) {
    connect(&window.loader(), &RecordingLoader::openFailed, this,
            [this](const QString&, const QString& message) {
                std::fprintf(stderr, "%s\n", printable(message.toStdString()).c_str());
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
    if (!written) std::fprintf(stderr, "%s\n", printable(written.error().message).c_str());
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

}  // namespace shardscope::desktop
