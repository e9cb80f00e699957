// The loader's part in imports: what is imported is opened as soon as a lane of it is there, is
// followed like a run that goes on, and becomes the finished recording in place.
#include "app/desktop/loading/load_recording.h"
#include "app/desktop/loading/reading.h"
#include "app/desktop/loading/recording_loader.h"
#include "storage/recording/read/cancellable_reader.h"

#include <utility>

namespace shardscope::desktop {
using namespace Qt::StringLiterals;

void RecordingLoader::connectImport() {
    connect(&m_import, &TraceImport::progressed, this, &RecordingLoader::importing);
    connect(&m_import, &TraceImport::progressed, this, &RecordingLoader::letItFinish);
    connect(&m_import, &TraceImport::begunAgain, this, [this] {
        if (!showsImport()) return;
        if (m_recording->analysed)
            m_again.start(0);  // it is said
        else
            readReport(m_recording);
    });
    connect(&m_import, &TraceImport::readable, this, &RecordingLoader::openPart);
    connect(&m_import, &TraceImport::done, this, &RecordingLoader::endImport);
    connect(&m_import, &TraceImport::failed, this, [this](const QString& message) {
        const auto tell = [this, address = m_import.address(), message] {
            Q_EMIT openFailed(address, message);
        };
        if (std::exchange(m_opensPart, false)) forgetOpening();
        if (showsImport())
            return goBack([this, address = m_import.address(), message] {
                Q_EMIT openFailed(
                    address, u"The import failed; its partial results were removed: "_s + message);
            });
        tell();
        importNext();
        if (isIdle()) Q_EMIT idle();
    });
}

/// A file that is still being read cannot be finished.
void RecordingLoader::letItFinish(double share) {
    constexpr double kNearlyRead = 0.98;
    if (share < kNearlyRead || !showsImport()) return;
    m_again.stop();
    m_growth->generations.supersede();
    m_growth->open = false;
}

void RecordingLoader::importNext() {
    if (!m_next.isEmpty() && !m_import.isGoing()) m_import.start(std::exchange(m_next, {}));
}

/// Where that fails the end of the import says more.
void RecordingLoader::openPart(const QString& part, const QString& recording) {
    m_opensPart = true;
    openPlace({recording, m_import.address(), {}, part},
              [this](const QString&, const QString&) { m_opensPart = false; });
}

void RecordingLoader::endImport(const ImportedTrace& made, std::optional<Duration> later) {
    m_opensPart = false;
    if (showsImport() && later)
        adopt(made, *later);
    else
        openPlace({made.recording, m_import.address(), made.facts, {}}, loudly());
}

/// The finished recording instead of its part: selection, zoom and page stay.
void RecordingLoader::adopt(const ImportedTrace& made, Duration later) {
    m_again.stop();
    const auto read = [this, reading = m_tables, made, later, address = m_import.address()](
                          const storage::Generation& generation) -> Result<Topic::Delivery> {
        if (auto opened = reading->openFile(made.recording.toStdString()); !opened)
            return failure(opened);
        auto sketch = sketchRecording(*reading->reader, made.recording, false);
        if (!sketch) return failure(sketch);
        (*sketch)->source = address;
        (*sketch)->importFacts = made.facts;
        (*sketch)->later = later;
        storage::CancellableReader reader(*reading->reader, generation);
        const auto whole = analysedWhole(**sketch, reader);
        if (!whole) return failure(whole);
        reading->recording = *whole;
        return Topic::Delivery([this, whole = *whole, later] {
            m_before.reset();
            if (later != Duration{}) Q_EMIT shifted(later);
            present(whole);
        });
    };
    submit(m_growth, read, [this, address = m_import.address()](const QString& message) {
        goBack([this, address, message] { Q_EMIT openFailed(address, message); });
    });
}

/// Nothing stays half open: what was open before is opened again, or nothing is.
void RecordingLoader::goBack(const std::function<void()>& tell) {
    const std::optional<Place> before = std::exchange(m_before, {});
    close();
    Q_EMIT closed(before.has_value());
    const auto end = [this, tell] {
        tell();
        importNext();
        if (isIdle()) Q_EMIT idle();
    };
    if (!before) return end();
    m_unknown = tell;
    openPlace(*before, [this, end](const QString&, const QString&) {
        m_unknown = nullptr;
        Q_EMIT closed(false);
        end();
    });
}

void RecordingLoader::close() {
    supersedeAll();
    m_again.stop();
    watchFile({}, std::nullopt);
    m_recording.reset();
    m_pictureJobs->submit(0, [reading = m_pictures] { reading->close(); });
    m_tableJobs->submit(0, [reading = m_tables] { reading->close(); });
}

void RecordingLoader::forgetOpening() {
    m_topics.front()->generations.supersede();
    m_topics.front()->open = false;
}

}  // namespace shardscope::desktop
