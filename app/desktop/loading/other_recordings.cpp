#include "app/desktop/loading/other_recordings.h"

#include "app/desktop/loading/import_cache.h"
#include "storage/recording/remote/remote_address.h"

#include <string>

namespace shardscope::desktop {
namespace {

/// The recording to read: itself, or what a trace is imported into.
Result<QString> recordingOf(const QString& file, const QString& folder,
                            const storage::Generation& generation) {
    if (storage::remote::isRemote(file.toStdString()))
        return failure(ErrorCode::kUsage,
                       "it is on another host: copy it here, or use `shardscope compare`, which "
                       "reads it there");
    const Result<bool> own = isRecording(file);
    if (!own) return failure(own);
    if (*own) return file;
    if (folder.isEmpty())
        return failure(ErrorCode::kUsage, "it is a trace: open it, which imports it");
    ImportCache::Listener listener;
    listener.progress = [generation](double) { return !generation.superseded(); };
    const auto made = ImportCache(folder).imported({file}, listener);
    if (!made) return failure(made);
    return made->recording;
}

}  // namespace

OtherRecordings::OtherRecordings(const char* name, QObject* parent)
    : QObject(parent), m_jobs(name) {}

OtherRecordings::~OtherRecordings() {
    for (auto& [kind, generations] : m_generations) generations.supersede();
}

Result<OtherRecordings::Opened> OtherRecordings::open(const QStringList& files,
                                                      const QString& folder,
                                                      const storage::Generation& generation) {
    Opened opened;
    for (const QString& file : files) {
        const auto recording = recordingOf(file, folder, generation);
        if (!recording) return failure(recording, file.toStdString());
        auto reader = storage::openRecording(recording->toStdString(), 1);
        if (!reader) return failure(reader);
        opened.files.push_back(std::move(*reader));
        opened.cancellable.push_back(
            std::make_unique<storage::CancellableReader>(*opened.files.back(), generation));
        opened.readers.push_back(opened.cancellable.back().get());
    }
    return opened;
}

}  // namespace shardscope::desktop
