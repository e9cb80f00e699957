#include "app/desktop/loading/trace_import.h"

#include <exception>
#include <string>
#include <utility>

namespace shardscope::desktop {

TraceImport::TraceImport(QObject* parent) : QObject(parent) {}

TraceImport::~TraceImport() {
    m_generations.supersede();
}

void TraceImport::start(const QStringList& paths) {
    m_address = paths.join(u'\n');
    m_progress = {};
    m_later = Duration{};
    m_isGoing = true;
    const storage::Generation generation = m_generations.next();
    m_thread.submit(0, [this, paths, generation] { run(paths, generation); });
}

void TraceImport::cancel() {
    m_generations.supersede();
    m_isGoing = false;
}

/// On the importer's thread.
void TraceImport::run(const QStringList& paths, const storage::Generation& generation) {
    const auto tell = [this, generation](auto what) {
        QMetaObject::invokeMethod(
            this,
            [generation, what = std::move(what)] {
                if (!generation.superseded()) what();
            },
            Qt::QueuedConnection);
    };
    ImportCache::Listener listener;
    listener.progress = [&, last = -1](double share) mutable {
        // a hundred words are enough
        if (const int percent = static_cast<int>(share * 100);
            std::exchange(last, percent) != percent)
            tell([this, share] { Q_EMIT progressed(m_progress.share = share); });
        return !generation.superseded();
    };
    listener.readable = [&](const QString& part, const QString& recording) {
        tell([this, part, recording] { Q_EMIT readable(part, recording); });
    };
    listener.readAgain = [&](std::optional<Duration> later) {
        tell([this, later] {
            m_progress.again = true;
            if (m_later && later)
                *m_later += *later;
            else
                m_later.reset();
            Q_EMIT begunAgain();
        });
    };
    Result<ImportedTrace> made = failure(ErrorCode::kFailure, "");
    try {
        made = ImportCache(m_folder, kImportCacheLimit, m_importer).imported(paths, listener);
    } catch (const std::exception& error) {
        made = failure(ErrorCode::kFailure, std::string("importing the trace: ") + error.what());
    }
    tell([this, made = std::move(made)] { finish(made); });
}

void TraceImport::finish(const Result<ImportedTrace>& made) {
    m_isGoing = false;
    if (made)
        Q_EMIT done(*made, m_later);
    else
        Q_EMIT failed(QString::fromStdString(made.error().message));
}

}  // namespace shardscope::desktop
