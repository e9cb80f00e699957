// Reads recordings beside the open one, on a separate thread: each question opens them again,
// so that no files are held open. Traces of other tools are imported first, into the cache.
// GUI thread; no answer comes after its end.
#pragma once

#include "app/desktop/loading/job_thread.h"
#include "storage/model/result.h"
#include "storage/recording/read/cancellable_reader.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/read/recording_reader.h"

#include <QObject>
#include <QString>
#include <QStringList>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace shardscope::desktop {

class OtherRecordings : public QObject {
    Q_OBJECT

public:
    using Readers = std::vector<storage::RecordingReader*>;

    /// `name`: of the thread, at most 15 characters.
    explicit OtherRecordings(const char* name, QObject* parent = nullptr);
    ~OtherRecordings() override;
    /// Where recordings of traces are kept; empty: traces are refused.
    void setImportFolder(const QString& folder) { m_importFolder = folder; }

    /// `work`: Result<T>(const Readers&) on the thread, by place of `files`; ends with kCancelled
    /// soon after another question of its kind came. `deliver`: void(const Result<T>&), on the GUI
    /// thread, unless superseded. Errors name the file that could not be read.
    template <class Work, class Deliver>
    void ask(int kind, const QStringList& files, Work work, Deliver deliver) {
        const storage::Generation generation = m_generations[kind].next();
        m_jobs.submit(kind, [this, files, generation, folder = m_importFolder,
                             work = std::move(work), deliver = std::move(deliver)]() mutable {
            if (generation.superseded()) return;
            auto opened = open(files, folder, generation);
            auto answer = opened ? guarded(work, opened->readers)
                                 : decltype(work(Readers{}))(failure(opened));
            // the thread is joined before this object goes, and what it queued goes with it
            QMetaObject::invokeMethod(
                this,
                [generation, deliver = std::move(deliver), answer = std::move(answer)] {
                    if (!generation.superseded()) deliver(answer);
                },
                Qt::QueuedConnection);
        });
    }
    /// No answer comes to what was asked of this kind.
    void forget(int kind) { m_generations[kind].supersede(); }

private:
    struct Opened {
        std::vector<std::unique_ptr<storage::RecordingReader>> files;
        std::vector<std::unique_ptr<storage::CancellableReader>> cancellable;
        Readers readers;
    };
    static Result<Opened> open(const QStringList& files, const QString& folder,
                               const storage::Generation& generation);
    /// The door at which exceptions become errors.
    template <class Work>
    static auto guarded(Work& work, const Readers& readers) -> decltype(work(readers)) {
        try {
            return work(readers);
        } catch (const std::exception& error) {
            return failure(ErrorCode::kFailure,
                           std::string("reading the recordings: ") + error.what());
        }
    }

    QString m_importFolder;
    std::map<int, storage::Generations> m_generations;
    JobThread m_jobs;  ///< last: joins before the rest goes
};

}  // namespace shardscope::desktop
