// Recordings that this window made of other tools' traces: found again by the content of the trace,
// the ones not looked at for longest removed where they take too much room. Importer thread.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "storage/interchange/import.h"
#include "storage/model/result.h"
#include "storage/model/units.h"

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
    /// What is told meanwhile, on the thread that imports.
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

}  // namespace shardscope::desktop
