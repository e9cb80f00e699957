// The import of other tools' traces that is under way: one at a time, on a thread of its own, into
// the cache (import_cache.h). GUI thread.
#pragma once

#include "app/desktop/loading/import_cache.h"
#include "app/desktop/loading/job_thread.h"
#include "storage/recording/read/generation.h"

#include <QObject>
#include <optional>

namespace shardscope::desktop {

class TraceImport : public QObject {
    Q_OBJECT

public:
    explicit TraceImport(QObject* parent = nullptr);
    ~TraceImport() override;

    /// Where recordings are kept.
    void setFolder(const QString& folder) { m_folder = folder; }
    [[nodiscard]] const QString& folder() const { return m_folder; }
    /// Instead of interchange::importTraces(): tests make it slow.
    void setImporter(ImportCache::Importer importer) { m_importer = std::move(importer); }

    /// Files, or a folder with one a rank; instead of what is under way.
    void start(const QStringList& paths);
    /// Nothing is heard any more of what is under way, and nothing is left of it.
    void cancel();

    [[nodiscard]] bool isGoing() const { return m_isGoing; }
    /// What is, or was last, imported: a path a line.
    [[nodiscard]] const QString& address() const { return m_address; }
    [[nodiscard]] ImportProgress progress() const { return m_progress; }

Q_SIGNALS:
    void progressed(double share);
    /// A reader finds the first lanes in `part`, which becomes `recording` at the end.
    void readable(const QString& part, const QString& recording);
    /// All was read, and is read once more: what is readable grows no more.
    void begunAgain();
    /// What was readable has moved by `later`; nothing: it became another recording.
    void done(const shardscope::desktop::ImportedTrace& made, std::optional<Duration> later);
    void failed(const QString& message);

private:
    void run(const QStringList& paths, const storage::Generation& generation);
    void finish(const Result<ImportedTrace>& made);

    QString m_folder, m_address;
    ImportCache::Importer m_importer;
    ImportProgress m_progress;
    std::optional<Duration> m_later;
    bool m_isGoing = false;
    storage::Generations m_generations;
    JobThread m_thread{"importer"};  // last: joins before the rest goes
};

}  // namespace shardscope::desktop
