#include "app/desktop/models/compared_files.h"

#include <QFileInfo>

namespace shardscope::desktop {
namespace {

bool isSameFile(const QString& a, const QString& b) {
    if (a == b) return true;
    const QString one = QFileInfo(a).canonicalFilePath();
    return !one.isEmpty() && one == QFileInfo(b).canonicalFilePath();
}

}  // namespace

QStringList ComparedFiles::withOpen(const OpenRecording& open) const {
    QStringList files{open.path};
    for (const QString& file : m_files)
        if (!isSameFile(file, open.path) && !isSameFile(file, open.address())) files << file;
    return files;
}

void ComparedFiles::add(const QString& path) {
    if (path.isEmpty() || m_files.contains(path)) return;
    m_files << path;
    Q_EMIT changed();
}

void ComparedFiles::remove(const QString& path) {
    if (m_files.removeAll(path) > 0) Q_EMIT changed();
}

void ComparedFiles::set(const QStringList& paths) {
    QStringList wanted = paths;
    wanted.removeDuplicates();
    if (wanted == m_files) return;
    m_files = wanted;
    Q_EMIT changed();
}

}  // namespace shardscope::desktop
