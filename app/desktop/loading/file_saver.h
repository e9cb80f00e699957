// Writes files behind the window, one after the other, on a separate thread; reports how far it is
// and how it ended. GUI thread.
#pragma once

#include "app/desktop/loading/job_thread.h"
#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/selection.h"
#include "storage/interchange/export.h"
#include "storage/model/result.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/remote/remote_session.h"

#include <QObject>
#include <QString>
#include <QStringList>
#include <functional>
#include <vector>

namespace shardscope::desktop {

/// Of one that is being saved: how far it is, and whether it is still wanted.
struct SaveProgress {
    std::function<bool(double share)> tell;  ///< false: it is not wanted any more
    storage::Generation wanted;
};

/// Writes a file or several, on the saver's thread. kCancelled soon after it is not wanted any
/// more; then, and on any error, nothing of it is left.
using SaveJob = std::function<Result<interchange::ExportAccount>(const SaveProgress& progress)>;

/// Something that can be saved now, or why it cannot.
struct SaveOffer {
    QString name;     ///< "Perfetto trace"
    QString what;     ///< what it holds or is good for, in a phrase
    QString stem;     ///< of the name that is suggested: "run-steps-3-5"
    QString ending;   ///< of that name, "pftrace"; empty: it is a folder
    QString refusal;  ///< why it cannot be saved; empty: it can
    /// What writes it to `path`, as it is now. GUI thread.
    std::function<SaveJob(const QString& path)> job{};
};

class FileSaver : public QObject {
    Q_OBJECT

public:
    explicit FileSaver(QObject* parent = nullptr);
    /// What is under way is cancelled, and leaves nothing.
    ~FileSaver() override;

    /// After what waits already.
    void save(SaveJob job);
    /// What is under way and what waits; files already complete stay, and are reported.
    void cancel();
    [[nodiscard]] bool isGoing() const { return m_open > 0; }

Q_SIGNALS:
    void progressed(double share);
    /// Of each, in sentences: what was written and what was left out, or why nothing was.
    void ended(const QStringList& lines);

private:
    void run(const SaveJob& job, const storage::Generation& generation);

    int m_submitted = 0;
    int m_open = 0;  ///< that have not ended
    storage::Generations m_cancels;
    storage::Generation m_wanted;  ///< of all since the last cancel
    JobThread m_thread{"saver"};   // last: joins before the rest goes
};

/// What `ended` says of something that was saved.
[[nodiscard]] QStringList savedText(const interchange::ExportAccount& account);

// A recording, or a part of it, in every format that `shardscope export` writes. GUI thread.

/// What `selection` leaves of `recording`, in each format, and in each table of one that has
/// several. Null: each says that none is open. Saving reads the recording again, and does not
/// disturb what is shown. `access`: of recordings on other hosts.
[[nodiscard]] std::vector<SaveOffer> recordingOffers(const RecordingPtr& recording,
                                                     const Selection& selection,
                                                     const storage::remote::ChildOptions& access);

/// What files that are saved of it begin with: "run" of "run.sscope"; null: the program's name.
[[nodiscard]] QString savedName(const RecordingPtr& recording);

/// A folder that they may lie in: where the recording does, else the home.
[[nodiscard]] QString savedFolder(const RecordingPtr& recording);

}  // namespace shardscope::desktop
