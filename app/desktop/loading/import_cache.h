// Recordings that this window made of other tools' traces: found again by the content of the trace,
// the ones not looked at for longest removed where they take too much room. Importer thread.
#pragma once

#include "app/desktop/loading/job_thread.h"
#include "app/desktop/models/open_recording.h"
#include "storage/interchange/import.h"
#include "storage/model/result.h"
#include "storage/model/units.h"
#include "storage/recording/read/generation.h"

#include <QObject>
#include <QString>
#include <QStringList>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::desktop {

struct ImportedTrace {
    QString recording;  ///< file in the cache
    ImportFacts facts;
};

/// Recordings together that are kept at most.
inline constexpr Bytes kImportCacheLimit{std::int64_t{8} << 30};

class ImportCache {
public:
    using Importer = std::function<Result<interchange::ImportAccount>(
        const std::vector<std::string>& inputs, const interchange::ImportOptions& options)>;
    /// `folder` is made when it is needed. `importer`: instead of interchange::importTraces().
    explicit ImportCache(QString folder, Bytes limit = kImportCacheLimit, Importer importer = {});

    /// Share of the work done; false cancels.
    using Progress = std::function<bool(double share)>;
    /// Called during the import, on the importing thread.
    struct Listener {
        Progress progress;
        /// As of ImportOptions; `recording` is what `part` becomes.
        std::function<void(const QString& part, const QString& recording)> readable = {};
        std::function<void(std::optional<Duration> later)> readAgain = {};
    };
    /// The recording of these files, or of a folder with a file a rank: as it is in the cache, or
    /// made now. Errors as of interchange::importTraces(); nothing is left of what fails.
    [[nodiscard]] Result<ImportedTrace> imported(const QStringList& inputs,
                                                 const Listener& listener) const;

private:
    [[nodiscard]] Result<QString> keyOf(const QStringList& inputs, const Progress& progress) const;
    void makeRoom(const QString& keep) const;

    QString m_folder;
    Bytes m_limit;
    Importer m_importer;
};

/// Whether `path` is opened as it is, as recordings are, damaged ones too; false: import reads it,
/// a folder or another tool's trace. kUnreadable: neither, and what it seems to be.
[[nodiscard]] Result<bool> isRecording(const QString& path);

/// "*.sscope *.json *.json.gz": what a file dialog offers.
[[nodiscard]] QString openableEndings();

// The import of other tools' traces that is under way: one at a time, on a separate thread, into
// the cache (import_cache.h). GUI thread.

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
