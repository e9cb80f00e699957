#include "app/desktop/loading/recording_loader.h"

#include <exception>

namespace shardscope::desktop {

/// Touched by jobs only, which all run on the loader thread.
struct RecordingLoader::Reading {
    std::unique_ptr<storage::RecordingReader> reader;
    RecordingPtr recording;
};

namespace {

Error noRecording() {
    return {ErrorCode::kCancelled, "no recording is open"};
}

/// The door at which exceptions of a job become errors.
template <class Work>
auto guarded(Work& work, const storage::Generation& generation) -> decltype(work(generation)) {
    try {
        return work(generation);
    } catch (const std::exception& error) {
        return failure(ErrorCode::kFailure, std::string("reading the recording: ") + error.what());
    }
}

}  // namespace

RecordingLoader::RecordingLoader(QObject* parent)
    : QObject(parent),
      m_reading(std::make_shared<Reading>()),
      m_jobs(std::make_unique<JobThread>()) {}

RecordingLoader::~RecordingLoader() {
    supersedeAll();
    m_jobs.reset();
}

void RecordingLoader::supersedeAll() {
    for (storage::Generations& generations : m_generations) generations.supersede();
}

template <class Work, class Deliver>
void RecordingLoader::ask(Kind kind, Work work, Deliver deliver) {
    const storage::Generation generation = m_generations[kind].next();
    const auto job = [this, kind, generation, work, deliver]() mutable {
        auto result = guarded(work, generation);
        QMetaObject::invokeMethod(
            this,
            [this, kind, generation, result = std::move(result), deliver]() mutable {
                if (generation.superseded()) return;
                m_open &= ~(1 << kind);
                if (result) {
                    deliver(std::move(*result));
                } else if (kind == kOpen) {
                    Q_EMIT openFailed(m_path, QString::fromStdString(result.error().message));
                } else if (result.error().code != ErrorCode::kCancelled) {
                    Q_EMIT questionFailed(QString::fromStdString(result.error().message));
                }
                answered();
            },
            Qt::QueuedConnection);
    };
    m_open |= 1 << kind;
    m_jobs->submit(kind, job);
}

void RecordingLoader::answered() {
    if (m_open == 0) Q_EMIT idle();
}

void RecordingLoader::open(const QString& path) {
    m_recording.reset();
    m_path = path;
    // answers about the previous recording must not arrive after this
    supersedeAll();
    m_open = 0;
    Q_EMIT opening(path);
    auto reading = m_reading;
    ask(
        kOpen,
        [reading, path](const storage::Generation&) -> Result<RecordingPtr> {
            reading->recording.reset();
            reading->reader.reset();
            auto reader = storage::openRecording(path.toStdString());
            if (!reader) return failure(reader);
            auto loaded = loadRecording(**reader, path);
            if (!loaded) return failure(loaded);
            reading->reader = std::move(*reader);
            reading->recording = *loaded;
            return *loaded;
        },
        [this](RecordingPtr recording) {
            m_recording = recording;
            Q_EMIT opened(recording);
        });
}

void RecordingLoader::requestTimeline(const TimelineQuery& query) {
    auto reading = m_reading;
    ask(
        kTimeline,
        [reading, query](const storage::Generation& generation) -> Result<TimelineFramePtr> {
            if (!reading->recording) return tl::unexpected(noRecording());
            return loadTimeline(*reading->reader, *reading->recording, query, generation);
        },
        [this](const TimelineFramePtr& frame) { Q_EMIT timelineLoaded(frame); });
}

void RecordingLoader::requestRangeTable(TimeRange range, const std::vector<RankId>& ranks) {
    auto reading = m_reading;
    ask(
        kRangeTable,
        [reading, range, ranks](const storage::Generation& generation) -> Result<RangeTablePtr> {
            if (!reading->recording) return tl::unexpected(noRecording());
            return loadRangeTable(*reading->reader, *reading->recording, range, ranks, generation);
        },
        [this](const RangeTablePtr& table) { Q_EMIT rangeTableLoaded(table); });
}

void RecordingLoader::requestMemory(const MemoryQuery& query) {
    auto reading = m_reading;
    ask(
        kMemory,
        [reading, query](const storage::Generation& generation) -> Result<MemoryFramePtr> {
            if (!reading->recording) return tl::unexpected(noRecording());
            return loadMemory(*reading->reader, *reading->recording, query, generation);
        },
        [this](const MemoryFramePtr& frame) { Q_EMIT memoryLoaded(frame); });
}

void RecordingLoader::requestNeighbour(const NeighbourQuery& query) {
    auto reading = m_reading;
    ask(
        kNeighbour,
        [reading,
         query](const storage::Generation& generation) -> Result<std::optional<SliceView>> {
            if (!reading->recording) return tl::unexpected(noRecording());
            return loadNeighbour(*reading->reader, *reading->recording, query, generation);
        },
        [this, key = query.key](const std::optional<SliceView>& slice) {
            if (slice) Q_EMIT neighbourLoaded(key, *slice);
        });
}

void RecordingLoader::requestLinks(const LinkQuery& query) {
    auto reading = m_reading;
    ask(
        kLinks,
        [reading,
         query](const storage::Generation& generation) -> Result<std::vector<LinkedSlice>> {
            if (!reading->recording) return tl::unexpected(noRecording());
            return loadLinks(*reading->reader, *reading->recording, query, generation);
        },
        [this, query](const std::vector<LinkedSlice>& links) { Q_EMIT linksLoaded(query, links); });
}

}  // namespace shardscope::desktop
