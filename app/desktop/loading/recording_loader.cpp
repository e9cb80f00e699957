#include "app/desktop/loading/recording_loader.h"

#include "app/desktop/loading/load_recording.h"
#include "app/desktop/loading/remote_hosts.h"
#include "storage/recording/read/cancellable_reader.h"
#include "storage/recording/remote/remote_address.h"
#include "storage/recording/remote/remote_reader.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>

namespace shardscope::desktop {

/// Touched by jobs only, which all run on the loader thread.
struct RecordingLoader::Reading {
    RemoteHosts hosts;
    /// Of the open recording, where it is on another host.
    std::shared_ptr<storage::remote::RemoteSession> session;
    std::unique_ptr<storage::RecordingReader> reader;
    RecordingPtr recording;

    void close() {
        recording.reset();
        reader.reset();
        session.reset();
    }
    Result<void> open(const std::string& path, const storage::remote::ChildOptions& access,
                      const storage::Generation& generation, const RemoteHosts::Notice& notice) {
        close();
        auto opened = storage::remote::isRemote(path) ? openRemote(path, access, generation, notice)
                                                      : storage::openRecording(path);
        if (!opened) return failure(opened);
        reader = std::move(*opened);
        return {};
    }
    [[nodiscard]] bool isLost() const { return session && session->isLost(); }

private:
    Result<std::unique_ptr<storage::RecordingReader>> openRemote(
        const std::string& path, const storage::remote::ChildOptions& access,
        const storage::Generation& generation, const RemoteHosts::Notice& notice) {
        const auto address = storage::remote::parseAddress(path);
        if (!address) return failure(address);
        auto connected = hosts.session(access, address->target, generation, notice);
        if (!connected) return failure(connected);
        session = *connected;
        return storage::remote::RemoteReader::open(session, address->path);
    }
};

namespace {

/// More topics than a window has.
constexpr int kTopicsOfAnUrgency = 1 << 16;

/// Between two looks at a recording that grows; longer where a look takes long.
constexpr std::chrono::milliseconds kBetweenLooks{2'000};
constexpr int kLooksShare = 5;

bool hasGrown(const RecordingSummary& before, const RecordingSummary& now) {
    return now.complete != before.complete || now.events.total() != before.events.total() ||
           now.steps.size() != before.steps.size() || now.metrics.size() != before.metrics.size() ||
           now.diagnostics.size() != before.diagnostics.size();
}

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
      m_growth(addTopic(Urgency::kTable)),
      m_folder(addTopic(Urgency::kPicture)),
      m_jobs(std::make_unique<JobThread>()) {
    m_again.setSingleShot(true);
    connect(&m_again, &QTimer::timeout, this, &RecordingLoader::lookForMore);
}

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
    m_again.stop();
    // answers about the previous recording must not arrive after this
    supersedeAll();
    Q_EMIT opening(path);
    const auto notice = [this](const std::string& progress) {
        QMetaObject::invokeMethod(
            this, [this, text = QString::fromStdString(progress)] { Q_EMIT connecting(text); },
            Qt::QueuedConnection);
    };
    const auto read = [this, reading = m_reading, path, access = m_access,
                       notice](const storage::Generation& generation) -> Result<Topic::Delivery> {
        if (auto done = reading->open(path.toStdString(), access, generation, notice); !done)
            return failure(done);
        if (reading->session) {
            const auto sketch = sketchRecording(*reading->reader, path);
            if (!sketch) return failure(sketch);
            // a copy: the sketch is added to while this one is looked at
            const auto shown = std::make_shared<const OpenRecording>(**sketch);
            reading->recording = shown;
            return Topic::Delivery([this, shown, sketch = *sketch] {
                m_recording = shown;
                Q_EMIT sketched(shown);
                completeSketch(sketch);
            });
        }
        storage::CancellableReader reader(*reading->reader, generation);
        auto loaded = loadRecording(reader, path);
        if (!loaded) return failure(loaded);
        reading->recording = *loaded;
        return Topic::Delivery([this, recording = *loaded] { present(recording); });
    };
    submit(m_topics.front(), read,
           [this, path](const QString& message) { Q_EMIT openFailed(path, message); });
}

void RecordingLoader::completeSketch(const std::shared_ptr<OpenRecording>& sketch) {
    const auto add = [this, reading = m_reading,
                      sketch](const storage::Generation& generation) -> Result<Topic::Delivery> {
        if (!reading->session) return Topic::Delivery([] {});
        reading->session->whileWanted(generation);
        storage::CancellableReader reader(*reading->reader, generation);
        const auto more = addNextRank(reader, *sketch);
        if (!more) return failure(more);
        if (*more) return Topic::Delivery([this, sketch] { completeSketch(sketch); });
        complete(*sketch);
        reading->recording = sketch;
        return Topic::Delivery([this, sketch] { present(sketch); });
    };
    submit(m_growth, add, [this, path = sketch->path](const QString& message) {
        m_recording.reset();
        Q_EMIT openFailed(path, message);
    });
}

void RecordingLoader::present(const RecordingPtr& recording) {
    m_recording = recording;
    Q_EMIT opened(recording);
    followIfGrowing();
}

void RecordingLoader::followIfGrowing() {
    if (m_recording && !m_recording->summary.complete && !m_again.isActive())
        m_again.start(kBetweenLooks);
}

void RecordingLoader::lookForMore() {
    const auto look = [this, reading = m_reading](
                          const storage::Generation& generation) -> Result<Topic::Delivery> {
        if (!reading->recording) return Topic::Delivery([] {});
        if (reading->session) reading->session->whileWanted(generation);
        const auto begun = std::chrono::steady_clock::now();
        const auto summary = reading->reader->summary();
        if (!summary) return failure(summary);
        if (!hasGrown(reading->recording->summary, *summary))
            return Topic::Delivery([this] { m_again.start(kBetweenLooks); });
        storage::CancellableReader reader(*reading->reader, generation);
        auto loaded = loadRecording(reader, reading->recording->path, true);
        if (!loaded) return failure(loaded);
        reading->recording = *loaded;
        const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
            std::chrono::steady_clock::now() - begun);
        return Topic::Delivery([this, recording = *loaded, took] {
            m_recording = recording;
            Q_EMIT grown(recording);
            if (!recording->summary.complete)
                m_again.start(std::max(kBetweenLooks, kLooksShare * took));
        });
    };
    submit(m_growth, withLoss(look), [](const QString&) {});
}

void RecordingLoader::listFolder(const QString& address, const TakeFolder& take) {
    const auto list = [reading = m_reading, address, take, access = m_access](
                          const storage::Generation& generation) -> Result<Topic::Delivery> {
        const auto listed = [&]() -> Result<storage::remote::FolderList> {
            const auto parsed = storage::remote::parseAddress(address.toStdString());
            if (!parsed) return failure(parsed);
            auto session = reading->hosts.session(access, parsed->target, generation, {});
            if (!session) return failure(session);
            return (*session)->ask(storage::remote::ListFolder{parsed->path});
        }();
        return Topic::Delivery([take, listed] { take(listed); });
    };
    submit(m_folder, list, [](const QString&) {});
}

void RecordingLoader::forgetFolder() {
    m_folder->generations.supersede();
    m_folder->open = false;
}

RecordingLoader::Job RecordingLoader::withLoss(Job job) {
    return [this, reading = m_reading, job = std::move(job)](
               const storage::Generation& generation) -> Result<Topic::Delivery> {
        auto answer = job(generation);
        if (answer || !reading->isLost() || !reading->recording) return answer;
        const QString path = reading->recording->path;
        const QString message = QString::fromStdString(answer.error().message);
        return Topic::Delivery([this, path, message] { Q_EMIT connectionLost(path, message); });
    };
}

void RecordingLoader::ask(const std::shared_ptr<TopicState>& topic, Topic::Question question) {
    const auto job = [reading = m_reading, question = std::move(question)](
                         const storage::Generation& generation) -> Result<Topic::Delivery> {
        // whoever asks without a recording wants no answer
        if (!reading->recording) return Topic::Delivery([] {});
        if (reading->session) reading->session->whileWanted(generation);
        auto answer = question(*reading->reader, *reading->recording, generation);
        // the page that asked has gone, or asks anew
        if (!answer && answer.error().code == ErrorCode::kCancelled) return Topic::Delivery([] {});
        return answer;
    };
    submit(topic, withLoss(job),
           [this](const QString& message) { Q_EMIT questionFailed(message); });
}

}  // namespace shardscope::desktop
