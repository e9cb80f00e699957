// Opens recordings and answers the pages' questions off the GUI thread. The reader lives on
// the loader thread; answers come back as queued signals with immutable values. Each kind of
// question has generations: a newer one ends the work on the one before it. GUI thread.
#pragma once

#include "app/desktop/loading/job_thread.h"
#include "app/desktop/loading/recording_queries.h"

#include <QObject>
#include <QString>
#include <array>
#include <functional>
#include <memory>

namespace shardscope::desktop {

class RecordingLoader : public QObject {
    Q_OBJECT

public:
    explicit RecordingLoader(QObject* parent = nullptr);
    ~RecordingLoader() override;

    void open(const QString& path);
    void requestTimeline(const TimelineQuery& query);
    void requestRangeTable(TimeRange range, const std::vector<RankId>& ranks);
    void requestMemory(const MemoryQuery& query);
    void requestNeighbour(const NeighbourQuery& query);
    void requestLinks(const LinkQuery& query);

    [[nodiscard]] RecordingPtr recording() const { return m_recording; }
    /// No question is open.
    [[nodiscard]] bool isIdle() const { return m_open == 0; }

Q_SIGNALS:
    void opening(const QString& path);
    void opened(const shardscope::desktop::RecordingPtr& recording);
    void openFailed(const QString& path, const QString& message);
    void timelineLoaded(const shardscope::desktop::TimelineFramePtr& frame);
    void rangeTableLoaded(const shardscope::desktop::RangeTablePtr& table);
    void memoryLoaded(const shardscope::desktop::MemoryFramePtr& frame);
    void neighbourLoaded(const shardscope::LaneAddress& key,
                         const shardscope::desktop::SliceView& slice);
    void linksLoaded(const shardscope::desktop::LinkQuery& query,
                     const std::vector<shardscope::desktop::LinkedSlice>& links);
    /// A question failed; the recording stays open.
    void questionFailed(const QString& message);
    /// The last open question was answered.
    void idle();

private:
    enum Kind { kOpen, kTimeline, kNeighbour, kLinks, kMemory, kRangeTable, kKinds };
    struct Reading;  ///< the loader thread's reader and what it opened

    /// Runs `work` on the loader thread and `deliver` here, unless a newer one was asked for.
    template <class Work, class Deliver>
    void ask(Kind kind, Work work, Deliver deliver);
    void answered();
    /// No open question is worth an answer any more.
    void supersedeAll();

    std::shared_ptr<Reading> m_reading;
    RecordingPtr m_recording;
    std::array<storage::Generations, kKinds> m_generations;
    int m_open = 0;  ///< a bit for each kind that waits for an answer
    QString m_path;
    std::unique_ptr<JobThread> m_jobs;
};

}  // namespace shardscope::desktop
