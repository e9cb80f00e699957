#include "app/desktop/models/compared_files.h"

namespace shardscope::desktop {

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
