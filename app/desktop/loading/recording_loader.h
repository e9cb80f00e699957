// Opens recordings and answers questions about the open one off the GUI thread (topic.h). The
// reader lives on the loader thread; answers come back with immutable values. GUI thread.
#pragma once

#include "app/desktop/loading/job_thread.h"
#include "app/desktop/loading/topic.h"
#include "storage/recording/remote/folder_list.h"
#include "storage/recording/remote/serving_child.h"

#include <QObject>
#include <QString>
#include <QTimer>
#include <functional>
#include <memory>
#include <vector>

namespace shardscope::desktop {

class RecordingLoader : public QObject {
    Q_OBJECT

public:
    explicit RecordingLoader(QObject* parent = nullptr);
    ~RecordingLoader() override;

    /// Of recordings on other hosts: the program that reaches them, and ssh.
    void setAccess(storage::remote::ChildOptions access) { m_access = std::move(access); }

    /// Ends all questions about the recording before. `path` is a file, or "ssh://HOST/PATH". One
    /// that is still being written is read again as it grows.
    void open(const QString& path);
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
    void opening(const QString& path);
    /// Of one on another host, before opened(): its rows are there, events and report are not, and
    /// questions about it are answered.
    void sketched(const shardscope::desktop::RecordingPtr& recording);
    void opened(const shardscope::desktop::RecordingPtr& recording);
    void openFailed(const QString& path, const QString& message);
    /// The open recording has grown, and this is it now.
    void grown(const shardscope::desktop::RecordingPtr& recording);
    /// How far the connection to another host is.
    void connecting(const QString& progress);
    /// The host of the open recording cannot be asked any more; open() connects anew.
    void connectionLost(const QString& path, const QString& message);
    /// A question failed; the recording stays open.
    void questionFailed(const QString& message);
    /// The last open question was answered.
    void idle();

private:
    friend class Topic;
    struct Reading;  ///< the loader thread's reader and what it opened
    using Job = std::function<Result<Topic::Delivery>(const storage::Generation&)>;
    using Refuse = std::function<void(const QString& message)>;

    [[nodiscard]] std::shared_ptr<TopicState> addTopic(Urgency urgency);
    void ask(const std::shared_ptr<TopicState>& topic, Topic::Question question);
    /// Runs `job` on the loader thread, then its delivery or `refuse` here, unless superseded.
    void submit(const std::shared_ptr<TopicState>& topic, Job job, Refuse refuse);
    void supersedeAll();
    /// Says so where the job fails because the connection is lost.
    [[nodiscard]] Job withLoss(Job job);
    /// Reads what a sketch lacks, a rank at a time: questions are answered in between.
    void completeSketch(const std::shared_ptr<OpenRecording>& sketch);
    void present(const RecordingPtr& recording);
    void lookForMore();
    void followIfGrowing();

    std::shared_ptr<Reading> m_reading;
    RecordingPtr m_recording;
    std::vector<std::shared_ptr<TopicState>> m_topics;  ///< that of opening first
    std::shared_ptr<TopicState> m_growth, m_folder;
    storage::remote::ChildOptions m_access;
    QTimer m_again;  ///< until a recording that grows is read again
    std::unique_ptr<JobThread> m_jobs;
};

}  // namespace shardscope::desktop
