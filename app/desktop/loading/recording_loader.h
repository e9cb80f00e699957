// Opens recordings and answers questions about the open one off the GUI thread (topic.h): pictures
// on one thread, tables and reports on another, each with its own reader, so that no picture
// waits for a table. Answers come back as immutable values. GUI thread.
#pragma once

#include "app/desktop/loading/import_cache.h"
#include "app/desktop/loading/job_thread.h"
#include "app/desktop/loading/topic.h"
#include "profiler/questions/report_reader.h"
#include "storage/recording/remote/calls.h"
#include "storage/recording/remote/remote_session.h"

#include <QFileSystemWatcher>
#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace shardscope::desktop {

class RemoteHosts;

class RecordingLoader : public QObject {
    Q_OBJECT

public:
    explicit RecordingLoader(QObject* parent = nullptr);
    ~RecordingLoader() override;

    /// Of recordings on other hosts: the program that reaches them, and ssh.
    void setAccess(storage::remote::ChildOptions access) { m_access = std::move(access); }
    [[nodiscard]] const storage::remote::ChildOptions& access() const { return m_access; }

    /// `path` is a file, or "ssh://HOST/PATH". The recording before stays until this one is there,
    /// and when it cannot be opened. One that is still being written is read again as it grows.
    void open(const QString& path) { open(QStringList{path}); }
    /// Other tools' traces, or a folder with one a rank, are imported, into the cache. One is open
    /// as soon as its first lanes are there, and followed; the next waits for its end then.
    void open(const QStringList& paths);
    /// A recording here, without a word until it is sketched(): triedInVain() where it cannot be
    /// read yet.
    void tryToOpen(const QString& path);
    /// Ends imports and a connection that are under way; what is open stays. Where that is what is
    /// imported, what was open before it comes back.
    void cancelOpening();
    /// Whether the open recording is visible: a hidden one is followed with a tenth of the work.
    void setWatched(bool watched);
    /// At once, whether one that was being written has grown.
    void lookNow();
    /// Where recordings of other tools' traces are kept.
    void setImportFolder(const QString& folder) { m_import.setFolder(folder); }
    [[nodiscard]] const QString& importFolder() const { return m_import.folder(); }
    void setImporter(ImportCache::Importer importer) { m_import.setImporter(std::move(importer)); }
    [[nodiscard]] bool isImporting() const { return m_import.isGoing(); }
    /// What lies in a folder of another host, "ssh://HOST/PATH": the newest question's answer, or
    /// why there is none.
    using TakeFolder = std::function<void(const Result<storage::remote::FolderList>& list)>;
    void listFolder(const QString& address, const TakeFolder& take);
    /// No answer comes after this.
    void forgetFolder();
    [[nodiscard]] RecordingPtr recording() const { return m_recording; }
    /// No question is open.
    [[nodiscard]] bool isIdle() const;

Q_SIGNALS:
    /// `path`: of several, one a line.
    void opening(const QString& path);
    void importing(double share);
    void openCancelled();
    /// What was imported is open no more, since it failed or was cancelled. `comesBack`: what was
    /// open before is opened again.
    void closed(bool comesBack);
    /// Before opened(): its rows are there, its report is not; questions about it are answered.
    /// Nothing that was asked of the recording before is answered any more.
    void sketched(const shardscope::desktop::RecordingPtr& recording);
    void opened(const shardscope::desktop::RecordingPtr& recording);
    void openFailed(const QString& path, const QString& message);
    void triedInVain(const QString& path);
    /// All of the open recording lies later from now on; grown() follows.
    void shifted(Duration later);
    /// The open recording has grown, and this is it now.
    void grown(const shardscope::desktop::RecordingPtr& recording);
    /// How far the connection to another host is.
    void connecting(const QString& progress);
    /// The host of the open recording can no longer be queried; open() connects again.
    void connectionLost(const QString& path, const QString& message);
    /// What the user opened is no longer at its path; `replaced`: another file is. Said once.
    void fileGone(const QString& path, bool replaced);
    /// A question failed; the recording stays open.
    void questionFailed(const QString& message);
    /// The last open question was answered.
    void idle();

private:
    friend class Topic;
    struct Reading;  ///< a thread's reader and what it opened
    using Job = std::function<Result<Topic::Delivery>(const storage::Generation&)>;
    using Refuse = std::function<void(const QString& message)>;

    [[nodiscard]] std::shared_ptr<TopicState> addTopic(Urgency urgency);
    [[nodiscard]] bool runsWithTables(const TopicState& topic) const;
    [[nodiscard]] std::shared_ptr<Reading> readingOf(const TopicState& topic) const;
    void ask(const std::shared_ptr<TopicState>& topic, Topic::Question question);
    /// Runs `job` on the topic's thread, then its delivery or `refuse` here, unless superseded.
    void submit(const std::shared_ptr<TopicState>& topic, Job job, Refuse refuse);
    void supersedeAll();
    /// Says so where the job fails because the connection is lost.
    [[nodiscard]] Job withLoss(const std::shared_ptr<TopicState>& topic, Job job);
    /// What is opened in the end, and what it was made of.
    struct Place {
        QString path, source;
        ImportFacts facts;
        QString part;  ///< where it is while it is imported
        [[nodiscard]] QString address() const { return source.isEmpty() ? path : source; }
    };
    using Fail = std::function<void(const QString& address, const QString& message)>;
    void openPlace(const Place& place, const Fail& fail);
    void letItFinish(double share);
    void importNext();
    void connectImport();
    [[nodiscard]] bool showsImport() const { return m_recording && m_recording->isImporting(); }
    void openPart(const QString& part, const QString& recording);
    void endImport(const ImportedTrace& made, std::optional<Duration> later);
    void adopt(const ImportedTrace& made, Duration later);
    void goBack(const std::function<void()>& tell);
    void close();
    void forgetOpening();
    [[nodiscard]] Fail loudly();
    void showSketch(const RecordingPtr& sketch, bool remote);
    /// Which file a path leads to, whatever is written to it.
    struct FileIdentity {
        std::uint64_t device = 0, number = 0;
        bool operator==(const FileIdentity&) const = default;
    };
    /// Not on the GUI thread. Absent: there is no such file.
    [[nodiscard]] static Result<std::optional<FileIdentity>> identityOf(const QString& path);
    void connectFile();
    void watchFile(const QString& path, std::optional<FileIdentity> identity);
    void checkFile();
    void readReport(const RecordingPtr& sketch);
    void completeSketch(const RecordingPtr& sketch,
                        const std::shared_ptr<questions::ReportReader>& report);
    void present(const RecordingPtr& recording);
    void refreshPictures(const RecordingPtr& recording);
    void lookForMore();

    std::shared_ptr<RemoteHosts> m_hosts;  ///< of the pictures' thread
    std::shared_ptr<Reading> m_pictures, m_tables;
    RecordingPtr m_recording;
    std::shared_ptr<const storage::KnownChunks> m_chunks;  ///< of its file; null: not known
    bool m_isRemote = false;
    std::vector<std::shared_ptr<TopicState>> m_topics;  ///< that of opening first
    std::shared_ptr<TopicState> m_refresh, m_growth, m_folder;
    storage::remote::ChildOptions m_access;
    bool m_isWatched = true;
    QTimer m_again;  ///< until a recording that grows is read again
    QFileSystemWatcher m_files;
    QTimer m_settling;        ///< until what happened to the file is looked at
    QString m_file;           ///< that the user opened; empty: it is not watched
    FileIdentity m_identity;  ///< of it, when it was opened
    std::unique_ptr<JobThread> m_pictureJobs, m_tableJobs;
    TraceImport m_import;
    bool m_opensPart = false;         ///< what is imported is being opened
    QStringList m_next;               ///< to import then
    std::optional<Place> m_before;    ///< what was open before what is imported, or being opened
    std::function<void()> m_unknown;  ///< once that is open again
};

}  // namespace shardscope::desktop
