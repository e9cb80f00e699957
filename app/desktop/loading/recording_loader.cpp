#include "app/desktop/loading/recording_loader.h"

#include "app/desktop/loading/load_recording.h"
#include "app/desktop/loading/reading.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/cancellable_reader.h"
#include "storage/recording/remote/remote_address.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

namespace shardscope::desktop {

namespace {

/// More topics than a window has.
constexpr int kTopicsOfAnUrgency = 1 << 16;

/// Between two looks at a recording that grows; longer where a look takes long.
constexpr std::chrono::milliseconds kBetweenLooks{2'000};
constexpr int kLooksShare = 5, kUnwatchedShare = 50;
/// No writer holds the lock; but some file systems do not support locks.
constexpr std::chrono::milliseconds kBetweenLooksAtTheDead{30'000};

bool isMore(const RecordingSummary& before, const RecordingSummary& now) {
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
      m_hosts(std::make_shared<RemoteHosts>()),
      m_pictures(std::make_shared<Reading>()),
      m_tables(std::make_shared<Reading>()),
      m_topics{std::make_shared<TopicState>()},
      m_refresh(addTopic(Urgency::kPicture)),
      m_growth(addTopic(Urgency::kTable)),
      m_folder(addTopic(Urgency::kPicture)),
      m_pictureJobs(std::make_unique<JobThread>("loader")),
      m_tableJobs(std::make_unique<JobThread>("analyst")) {
    connectImport();
    m_again.setSingleShot(true);
    connect(&m_again, &QTimer::timeout, this, &RecordingLoader::lookForMore);
    connectFile();
}

RecordingLoader::~RecordingLoader() {
    supersedeAll();
    m_pictureJobs.reset();
    m_tableJobs.reset();
}

bool RecordingLoader::isIdle() const {
    return !m_import.isGoing() && std::none_of(m_topics.begin(), m_topics.end(),
                                               [](const auto& topic) { return topic->open; });
}

std::shared_ptr<TopicState> RecordingLoader::addTopic(Urgency urgency) {
    auto topic = std::make_shared<TopicState>();
    topic->isTable = urgency == Urgency::kTable;
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

/// Tables and reports have their own thread and reader, except where one connection serves all.
bool RecordingLoader::runsWithTables(const TopicState& topic) const {
    return topic.isTable && !m_isRemote;
}

std::shared_ptr<RecordingLoader::Reading> RecordingLoader::readingOf(
    const TopicState& topic) const {
    return runsWithTables(topic) ? m_tables : m_pictures;
}

void RecordingLoader::submit(const std::shared_ptr<TopicState>& topic, Job job, Refuse refuse) {
    const storage::Generation generation = topic->generations.next();
    topic->open = true;
    JobThread& thread = runsWithTables(*topic) ? *m_tableJobs : *m_pictureJobs;
    thread.submit(topic->order, [this, topic, generation, job = std::move(job),
                                 refuse = std::move(refuse)]() mutable {
        if (generation.superseded()) return;
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

void RecordingLoader::open(const QStringList& paths) {
    const QString address = paths.join(u'\n');
    Q_EMIT opening(address);
    m_next.clear();
    m_unknown = nullptr;
    m_opensPart = false;
    if (!showsImport()) m_import.cancel();
    if (paths.size() == 1 && storage::remote::isRemote(address.toStdString()))
        return openPlace({address, {}, {}, {}}, loudly());
    const auto recognise = [this, paths](const storage::Generation&) -> Result<Topic::Delivery> {
        const Result<bool> own = paths.size() == 1 ? isRecording(paths.front()) : false;
        if (!own) return failure(own);
        return Topic::Delivery([this, paths, own = *own] {
            if (own) return openPlace({paths.front(), {}, {}, {}}, loudly());
            m_next = paths;
            importNext();
        });
    };
    submit(m_topics.front(), recognise,
           [this, address](const QString& message) { Q_EMIT openFailed(address, message); });
}

void RecordingLoader::cancelOpening() {
    m_next.clear();
    m_opensPart = false;
    forgetOpening();
    const bool wasShown = showsImport() && m_import.isGoing();
    m_import.cancel();
    const auto tell = [this] { Q_EMIT openCancelled(); };
    if (wasShown)
        goBack(tell);
    else
        tell();
    if (isIdle()) Q_EMIT idle();
}

RecordingLoader::Fail RecordingLoader::loudly() {
    return [this](const QString& address, const QString& message) {
        Q_EMIT openFailed(address, message);
    };
}

void RecordingLoader::tryToOpen(const QString& path) {
    if (m_import.isGoing()) {  // it would end
        Q_EMIT triedInVain(path);
        return;
    }
    openPlace({path, {}, {}, {}},
              [this](const QString& address, const QString&) { Q_EMIT triedInVain(address); });
}

void RecordingLoader::openPlace(const Place& place, const Fail& fail) {
    const auto notice = [this](const std::string& progress) {
        QMetaObject::invokeMethod(
            this, [this, text = QString::fromStdString(progress)] { Q_EMIT connecting(text); },
            Qt::QueuedConnection);
    };
    const std::string path = place.path.toStdString();
    const bool remote = storage::remote::isRemote(path);
    const auto read = [this, reading = m_pictures, hosts = m_hosts, place, path, access = m_access,
                       remote, progress = m_import.progress(),
                       notice](const storage::Generation& generation) -> Result<Topic::Delivery> {
        auto opened =
            remote ? reading->openRemote(*hosts, path, access, generation, notice)
                   : reading->openFile(place.part.isEmpty() ? path : place.part.toStdString());
        if (!opened) return failure(opened);
        const auto sketch = sketchRecording(*reading->reader, place.path,
                                            reading->isBeingWritten() || !place.part.isEmpty());
        if (!sketch) return failure(sketch);
        (*sketch)->source = place.source;
        (*sketch)->importFacts = place.facts;
        (*sketch)->part = place.part;
        if ((*sketch)->isImporting()) (*sketch)->imported = progress;
        reading->recording = *sketch;
        const auto identity = identityOf(place.address());
        return Topic::Delivery([this, sketch = RecordingPtr(*sketch), remote,
                                chunks = reading->reader->knownChunks(),
                                identity = identity ? *identity : std::nullopt] {
            m_chunks = chunks;
            watchFile(sketch->address(), identity);
            showSketch(sketch, remote);
        });
    };
    submit(m_topics.front(), read,
           [fail, address = place.address()](const QString& message) { fail(address, message); });
}

void RecordingLoader::showSketch(const RecordingPtr& sketch, bool remote) {
    // answers about the recording before must not arrive after this
    supersedeAll();
    m_again.stop();
    m_opensPart = false;
    if (!sketch->isImporting()) m_import.cancel();
    if (m_recording && m_recording->analysed && !m_recording->isImporting())
        m_before = Place{m_recording->path, m_recording->source, m_recording->importFacts, {}};
    else if (!sketch->isImporting())
        m_before.reset();
    m_isRemote = remote;
    m_recording = sketch;
    Q_EMIT sketched(sketch);
    if (remote) m_tableJobs->submit(0, [reading = m_tables] { reading->close(); });
    readReport(sketch);
}

/// It copies the rows, of which a long run has many: not on the GUI thread.
void RecordingLoader::readReport(const RecordingPtr& sketch) {
    const auto begin = [this, sketch](const storage::Generation&) -> Result<Topic::Delivery> {
        auto read = questions::ReportReader::of(sketch->summary);
        if (!read) return Topic::Delivery([] {});  // of everything: it leaves something
        return Topic::Delivery(
            [this, sketch,
             report = std::make_shared<questions::ReportReader>(std::move(*read))]() mutable {
                completeSketch(sketch, std::exchange(report, nullptr));
            });
    };
    submit(m_growth, begin, [](const QString&) {});
}

void RecordingLoader::completeSketch(const RecordingPtr& sketch,
                                     const std::shared_ptr<questions::ReportReader>& report) {
    const auto add = [this, reading = readingOf(*m_growth), sketch, report, chunks = m_chunks](
                         const storage::Generation& generation) -> Result<Topic::Delivery> {
        if (!reading->session && !report->hasBegun()) {
            const auto opened = reading->openFile(sketch->file().toStdString(), chunks);
            if (!opened && Reading::isGone(*sketch)) return Topic::Delivery([] {});
            if (!opened) return failure(opened);
            reading->recording = sketch;
        }
        if (reading->session) reading->session->whileWanted(generation);
        storage::CancellableReader reader(*reading->reader, generation);
        // Of one on another host a rank at a time: questions are answered in between.
        const auto more = report->addNextRank(reader);
        if (!more && reading->isMoved()) return Topic::Delivery([] {});
        if (!more) return failure(more);
        if (*more)
            return Topic::Delivery([this, sketch, report] { completeSketch(sketch, report); });
        const RecordingPtr whole = analysed(*sketch, *report);
        reading->recording = whole;
        return Topic::Delivery([this, whole] { present(whole); });
    };
    submit(m_growth, withLoss(m_growth, add),
           [this, path = sketch->address()](const QString& message) {
               // rows without a report are not a recording: what was open before is
               goBack([this, path, message] { Q_EMIT openFailed(path, message); });
           });
}

void RecordingLoader::present(const RecordingPtr& recording) {
    const bool again = m_recording && m_recording->analysed;
    m_recording = recording;
    refreshPictures(recording);
    if (again)
        Q_EMIT grown(recording);
    else
        Q_EMIT opened(recording);
    if (!recording->isImporting()) m_before.reset();
    if (const auto tell = std::exchange(m_unknown, nullptr)) tell();
    if (!recording->isImporting()) importNext();
    if (!recording->summary.complete)
        m_again.start(recording->beingWritten ? kBetweenLooks : kBetweenLooksAtTheDead);
}

/// Questions that follow are answered from what there is now.
void RecordingLoader::refreshPictures(const RecordingPtr& recording) {
    const auto refresh = [reading = m_pictures,
                          recording](const storage::Generation&) -> Result<Topic::Delivery> {
        if (!reading->recording || reading->recording->path != recording->path)
            return Topic::Delivery([] {});
        const std::string at = recording->file().toStdString();
        if (recording->isImporting() != reading->recording->isImporting()) {
            if (auto opened = reading->openFile(at); !opened) return failure(opened);
        } else if (!recording->summary.complete || !reading->recording->summary.complete)
            if (const auto rows = reading->reader->summary(); !rows) return failure(rows);
        reading->recording = recording;
        return Topic::Delivery([] {});
    };
    submit(m_refresh, refresh, [](const QString&) {});
}

void RecordingLoader::setWatched(bool watched) {
    if (std::exchange(m_isWatched, watched) != watched && watched) lookNow();
}

void RecordingLoader::lookNow() {
    if (m_again.isActive()) m_again.start(0);
}

void RecordingLoader::lookForMore() {
    const auto look = [this, reading = readingOf(*m_growth), progress = m_import.progress()](
                          const storage::Generation& generation) -> Result<Topic::Delivery> {
        if (!reading->recording) return Topic::Delivery([] {});
        if (reading->session) reading->session->whileWanted(generation);
        const auto begun = std::chrono::steady_clock::now();
        const RecordingSummary& before = reading->recording->summary;
        auto sketch = sketchRecording(*reading->reader, reading->recording->path, false);
        if (!sketch) return failure(sketch);
        (*sketch)->source = reading->recording->source;
        (*sketch)->importFacts = reading->recording->importFacts;
        (*sketch)->part = reading->recording->part;
        if ((*sketch)->isImporting()) (*sketch)->imported = progress;
        const bool hasGrown = isMore(before, (*sketch)->summary) ||
                              reading->recording->imported.again != (*sketch)->imported.again;
        (*sketch)->beingWritten =
            reading->isBeingWritten() || (*sketch)->isImporting() || (reading->session && hasGrown);
        if (!hasGrown && (*sketch)->beingWritten == reading->recording->beingWritten)
            return Topic::Delivery([this, written = (*sketch)->beingWritten] {
                m_again.start(written || m_isRemote ? kBetweenLooks : kBetweenLooksAtTheDead);
            });
        storage::CancellableReader reader(*reading->reader, generation);
        const auto read = analysedWhole(**sketch, reader);
        if (!read) return failure(read);
        const RecordingPtr& whole = *read;
        reading->recording = whole;
        const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
            std::chrono::steady_clock::now() - begun);
        return Topic::Delivery([this, whole, took] {
            present(whole);
            if (m_again.isActive() && whole->beingWritten)
                m_again.start(
                    std::max(kBetweenLooks, (m_isWatched ? kLooksShare : kUnwatchedShare) * took));
        });
    };
    submit(m_growth, withLoss(m_growth, look), [this](const QString&) {
        if (showsImport()) m_again.start(kBetweenLooks);
    });
}

void RecordingLoader::listFolder(const QString& address, const TakeFolder& take) {
    const auto list = [hosts = m_hosts, address, take, access = m_access](
                          const storage::Generation& generation) -> Result<Topic::Delivery> {
        const auto listed = [&]() -> Result<storage::remote::FolderList> {
            const auto parsed = storage::remote::parseAddress(address.toStdString());
            if (!parsed) return failure(parsed);
            auto session = hosts->session(access, parsed->target, generation, {});
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

RecordingLoader::Job RecordingLoader::withLoss(const std::shared_ptr<TopicState>& topic, Job job) {
    return [this, reading = readingOf(*topic), job = std::move(job)](
               const storage::Generation& generation) -> Result<Topic::Delivery> {
        auto answer = job(generation);
        if (answer || !reading->isLost() || !reading->recording) return answer;
        const QString path = reading->recording->path;
        const QString message = QString::fromStdString(answer.error().message);
        return Topic::Delivery([this, path, message] { Q_EMIT connectionLost(path, message); });
    };
}

void RecordingLoader::ask(const std::shared_ptr<TopicState>& topic, Topic::Question question) {
    const auto job = [reading = readingOf(*topic), question = std::move(question)](
                         const storage::Generation& generation) -> Result<Topic::Delivery> {
        // a query without a recording needs no answer
        if (!reading->recording) return Topic::Delivery([] {});
        if (reading->session) reading->session->whileWanted(generation);
        auto answer = question(*reading->reader, *reading->recording, generation);
        if (!answer && reading->goOver())
            answer = question(*reading->reader, *reading->recording, generation);
        // the page that asked has gone, or asks again
        if (!answer && answer.error().code == ErrorCode::kCancelled) return Topic::Delivery([] {});
        if (!answer && reading->isMoved()) return Topic::Delivery([] {});
        return answer;
    };
    submit(topic, withLoss(topic, job),
           [this](const QString& message) { Q_EMIT questionFailed(message); });
}

}  // namespace shardscope::desktop
