// The loader's part in what becomes of the file that is open: it is removed, or another file takes
// its place. What is shown is read from the one that was opened all the same.
#include "app/desktop/loading/recording_loader.h"

#include <sys/stat.h>

#include <QFile>
#include <cerrno>
#include <chrono>
#include <utility>

namespace shardscope::desktop {
namespace {

/// A file that is written anew is gone for a moment.
constexpr std::chrono::milliseconds kSettling{500};
/// Before the questions of topics.
constexpr int kCheckOrder = 1;

}  // namespace

Result<std::optional<RecordingLoader::FileIdentity>> RecordingLoader::identityOf(
    const QString& path) {
    struct stat facts {};
    if (::stat(QFile::encodeName(path).constData(), &facts) == 0)
        return FileIdentity{facts.st_dev, facts.st_ino};
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<FileIdentity>();
    return failure(ErrorCode::kUnreadable, "it cannot be looked at");
}

void RecordingLoader::connectFile() {
    m_settling.setSingleShot(true);
    m_settling.setInterval(kSettling);
    // of a recording that grows this comes with every write
    const auto changed = [this] {
        if (!m_file.isEmpty() && !m_settling.isActive()) m_settling.start();
    };
    connect(&m_files, &QFileSystemWatcher::fileChanged, this, changed);
    connect(&m_files, &QFileSystemWatcher::directoryChanged, this, changed);
    connect(&m_settling, &QTimer::timeout, this, &RecordingLoader::checkFile);
}

/// `identity` absent: a file of another host, or several.
void RecordingLoader::watchFile(const QString& path, std::optional<FileIdentity> identity) {
    m_settling.stop();
    if (const QStringList before = m_files.files() + m_files.directories(); !before.isEmpty())
        m_files.removePaths(before);
    m_file = identity ? path : QString();
    m_identity = identity.value_or(FileIdentity());
    if (identity) m_files.addPath(path);
}

/// On a thread that may wait for a disk.
void RecordingLoader::checkFile() {
    m_tableJobs->submit(kCheckOrder, [this, path = m_file, identity = m_identity] {
        const auto now = identityOf(path);
        if (!now || *now == identity) return;
        const bool replaced = now->has_value();
        const auto say = [this, path, replaced, identity] {
            if (path != m_file || identity != m_identity) return;
            watchFile({}, std::nullopt);
            Q_EMIT fileGone(path, replaced);
        };
        QMetaObject::invokeMethod(this, say, Qt::QueuedConnection);
    });
}

}  // namespace shardscope::desktop
