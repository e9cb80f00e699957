#include "app/desktop/shell/run_opening.h"

#include "app/desktop/models/format.h"

#include <QFileInfo>

namespace shardscope::desktop {
namespace {

/// The recorder writes what it has every half second.
constexpr int kFirstTryMs = 700;
constexpr int kNextTryMs = 2'000;

}  // namespace

RunOpening::RunOpening(RecorderSession& session, RecordingLoader& loader, QObject* parent)
    : QObject(parent), m_loader(loader) {
    m_again.setSingleShot(true);
    connect(&m_again, &QTimer::timeout, this, &RunOpening::tryNow);
    connect(&session, &RecorderSession::stateChanged, this, [this](RecorderSession::State state) {
        if (state == RecorderSession::State::kStarting) m_leftAlone = false;
    });
    connect(&session, &RecorderSession::started, this, &RunOpening::begin);
    connect(&session, &RecorderSession::stepDone, this, [this] {
        if (m_need != Need::kStep) return;
        m_need = Need::kTry;
        m_again.start(kFirstTryMs);
    });
    connect(&session, &RecorderSession::finished, this, [this] {
        m_need = Need::kNone;
        m_again.stop();
    });
    connect(&loader, &RecordingLoader::opening, this,
            [this](const QString& path) { m_opening = path; });
    connect(&loader, &RecordingLoader::opened, this, &RunOpening::loaderOpened);
    connect(&loader, &RecordingLoader::triedInVain, this, &RunOpening::tryAgain);
    connect(&loader, &RecordingLoader::openFailed, this, [this] { m_opening.clear(); });
    connect(&loader, &RecordingLoader::openCancelled, this, [this] { m_opening.clear(); });
}

/// Again after a restart without a lost host: the new recording is another file.
void RunOpening::begin(const run::RunStarted& started) {
    m_path = fromUtf8(started.output);
    m_need = m_path.isEmpty() || m_leftAlone ? Need::kNone : Need::kStep;
}

void RunOpening::userOpens(const QString& path) {
    m_leftAlone = path != m_path;
    m_again.stop();
    if (m_need != Need::kNone) m_need = Need::kDone;
}

void RunOpening::tryNow() {
    if (m_need != Need::kTry) return;
    // what the user opened before the run may take long: an import
    if (!m_opening.isEmpty() || !QFileInfo::exists(m_path)) return m_again.start(kNextTryMs);
    m_loader.tryToOpen(m_path);
}

void RunOpening::loaderOpened(const RecordingPtr& recording) {
    m_opening.clear();
    if (recording->path == m_path && m_need == Need::kTry) m_need = Need::kDone;
}

void RunOpening::tryAgain(const QString& path) {
    if (path == m_path && m_need == Need::kTry) m_again.start(kNextTryMs);
}

}  // namespace shardscope::desktop
