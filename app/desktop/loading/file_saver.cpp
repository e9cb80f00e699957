#include "app/desktop/loading/file_saver.h"

#include "app/desktop/models/format.h"

#include <QFileInfo>
#include <exception>
#include <string>
#include <utility>

namespace shardscope::desktop {
namespace {

Result<interchange::ExportAccount> guarded(const SaveJob& job, const SaveProgress& progress) {
    if (progress.wanted.superseded()) return failure(ErrorCode::kCancelled, "");
    try {
        return job(progress);
    } catch (const std::exception& error) {
        return failure(ErrorCode::kFailure, std::string("saving the file: ") + error.what());
    }
}

QStringList endText(const Result<interchange::ExportAccount>& account) {
    if (account) return savedText(*account);
    if (account.error().code == ErrorCode::kCancelled)
        return {FileSaver::tr("Cancelled; nothing was written")};
    return {fromUtf8(account.error().message)};
}

}  // namespace

QStringList savedText(const interchange::ExportAccount& account) {
    QString written;
    if (account.files.size() == 1) {
        written = FileSaver::tr("Wrote %1").arg(fromUtf8(account.files.front()));
    } else {
        const QString first = fromUtf8(account.files.empty() ? "" : account.files.front());
        written = FileSaver::tr("Wrote %1 files into %2")
                      .arg(account.files.size())
                      .arg(QFileInfo(first).path());
    }
    if (account.events > 0)
        written += FileSaver::tr(": %1 events")
                       .arg(formatCount(static_cast<std::int64_t>(account.events)));
    QStringList told{written};
    for (const std::string& note : account.notes) told << fromUtf8(note);
    return told;
}

FileSaver::FileSaver(QObject* parent) : QObject(parent), m_wanted(m_cancels.next()) {}

FileSaver::~FileSaver() {
    m_cancels.supersede();
}

void FileSaver::save(SaveJob job) {
    if (m_open++ == 0) Q_EMIT progressed(0);
    m_thread.submit(m_submitted++,
                    [this, job = std::move(job), generation = m_wanted] { run(job, generation); });
}

void FileSaver::cancel() {
    m_wanted = m_cancels.next();
}

/// On the saver's thread, which ends before this does.
void FileSaver::run(const SaveJob& job, const storage::Generation& generation) {
    const auto later = [this](auto what) {
        QMetaObject::invokeMethod(this, std::move(what), Qt::QueuedConnection);
    };
    SaveProgress progress{{}, generation};
    progress.tell = [&, last = -1](double share) mutable {
        // a hundred words are enough
        if (const int percent = static_cast<int>(share * 100);
            std::exchange(last, percent) != percent)
            later([this, share] { Q_EMIT progressed(share); });
        return !generation.superseded();
    };
    later([this, told = endText(guarded(job, progress))] {
        --m_open;
        Q_EMIT ended(told);
    });
}

}  // namespace shardscope::desktop
