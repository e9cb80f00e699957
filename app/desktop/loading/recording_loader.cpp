#include "app/desktop/loading/recording_loader.h"

#include "app/desktop/loading/load_recording.h"

#include <algorithm>
#include <exception>
#include <string>

namespace shardscope::desktop {

/// Touched by jobs only, which all run on the loader thread.
struct RecordingLoader::Reading {
    std::unique_ptr<storage::RecordingReader> reader;
    RecordingPtr recording;
};

namespace {

/// More topics than a window has.
constexpr int kTopicsOfAnUrgency = 1 << 16;

/// The door at which exceptions of a job become errors.
template <class Job>
auto guarded(Job& job, const storage::Generation& generation) -> decltype(job(generation)) {
    try {
        return job(generation);
    } catch (const std::exception& error) {
        return failure(ErrorCode::kFailure, std::string("reading the recording: ") + error.what());
    }
}

}  // namespace

RecordingLoader::RecordingLoader(QObject* parent)
    : QObject(parent),
      m_reading(std::make_shared<Reading>()),
      m_topics{std::make_shared<TopicState>()},
      m_jobs(std::make_unique<JobThread>()) {}

RecordingLoader::~RecordingLoader() {
    supersedeAll();
    m_jobs.reset();
}

bool RecordingLoader::isIdle() const {
    return std::none_of(m_topics.begin(), m_topics.end(),
                        [](const auto& topic) { return topic->open; });
}

std::shared_ptr<TopicState> RecordingLoader::addTopic(Urgency urgency) {
    auto topic = std::make_shared<TopicState>();
    topic->order =
        (static_cast<int>(urgency) + 1) * kTopicsOfAnUrgency + static_cast<int>(m_topics.size());
    m_topics.push_back(topic);
    return topic;
}

void RecordingLoader::supersedeAll() {
    for (const auto& topic : m_topics) {
        topic->generations.supersede();
        topic->open = false;
    }
}

void RecordingLoader::submit(const std::shared_ptr<TopicState>& topic, Job job, Refuse refuse) {
    const storage::Generation generation = topic->generations.next();
    topic->open = true;
    m_jobs->submit(topic->order, [this, topic, generation, job = std::move(job),
                                  refuse = std::move(refuse)]() mutable {
        auto result = guarded(job, generation);
        const auto answer = [this, topic, generation, refuse, result = std::move(result)] {
            if (generation.superseded()) return;
            topic->open = false;
            if (result)
                (*result)();
            else
                refuse(QString::fromStdString(result.error().message));
            if (isIdle()) Q_EMIT idle();
        };
        QMetaObject::invokeMethod(this, answer, Qt::QueuedConnection);
    });
}

void RecordingLoader::open(const QString& path) {
    m_recording.reset();
    // answers about the previous recording must not arrive after this
    supersedeAll();
    Q_EMIT opening(path);
    const auto read = [this, reading = m_reading,
                       path](const storage::Generation&) -> Result<Topic::Delivery> {
        reading->recording.reset();
        reading->reader.reset();
        auto reader = storage::openRecording(path.toStdString());
        if (!reader) return failure(reader);
        auto loaded = loadRecording(**reader, path);
        if (!loaded) return failure(loaded);
        reading->reader = std::move(*reader);
        reading->recording = *loaded;
        return Topic::Delivery([this, recording = *loaded] {
            m_recording = recording;
            Q_EMIT opened(recording);
        });
    };
    submit(m_topics.front(), read,
           [this, path](const QString& message) { Q_EMIT openFailed(path, message); });
}

void RecordingLoader::ask(const std::shared_ptr<TopicState>& topic, Topic::Question question) {
    const auto job = [reading = m_reading, question = std::move(question)](
                         const storage::Generation& generation) -> Result<Topic::Delivery> {
        // whoever asks without a recording wants no answer
        if (!reading->recording) return Topic::Delivery([] {});
        auto answer = question(*reading->reader, *reading->recording, generation);
        // the page that asked has gone, or asks anew
        if (!answer && answer.error().code == ErrorCode::kCancelled) return Topic::Delivery([] {});
        return answer;
    };
    submit(topic, job, [this](const QString& message) { Q_EMIT questionFailed(message); });
}

}  // namespace shardscope::desktop
