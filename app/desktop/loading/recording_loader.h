// Opens recordings and answers questions about the open one off the GUI thread (topic.h). The
// reader lives on the loader thread; answers come back with immutable values. GUI thread.
#pragma once

#include "app/desktop/loading/job_thread.h"
#include "app/desktop/loading/topic.h"

#include <QObject>
#include <QString>
#include <functional>
#include <memory>
#include <vector>

namespace shardscope::desktop {

class RecordingLoader : public QObject {
    Q_OBJECT

public:
    explicit RecordingLoader(QObject* parent = nullptr);
    ~RecordingLoader() override;

    /// Ends all questions about the recording before.
    void open(const QString& path);
    [[nodiscard]] RecordingPtr recording() const { return m_recording; }
    /// No question is open.
    [[nodiscard]] bool isIdle() const;

Q_SIGNALS:
    void opening(const QString& path);
    void opened(const shardscope::desktop::RecordingPtr& recording);
    void openFailed(const QString& path, const QString& message);
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

    std::shared_ptr<Reading> m_reading;
    RecordingPtr m_recording;
    std::vector<std::shared_ptr<TopicState>> m_topics;  ///< that of opening first
    std::unique_ptr<JobThread> m_jobs;
};

}  // namespace shardscope::desktop
