#include "app/desktop/shell/window_runs.h"

#include "app/desktop/models/format.h"
#include "engine/run/config/program_run.h"
#include "engine/run/config/run_settings.h"
#include "storage/recording/remote/remote_address.h"

#include <QAbstractButton>
#include <QFileInfo>
#include <QMessageBox>
#include <QProcess>
#include <QPushButton>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

namespace {

/// The recorder writes what it has every half second.
constexpr int kFirstTryMs = 700;
constexpr int kNextTryMs = 2'000;

}  // namespace

QString titleOf(const run::RunConfig& config, const QStringList& arguments) {
    if (const auto at = arguments.indexOf(u"--"_s); at >= 0) {
        std::vector<std::string> command;
        for (const QString& word : arguments.mid(at + 1)) command.push_back(word.toStdString());
        if (!command.empty()) return fromUtf8(run::programTitle(command));
    }
    return u"%1 · %2 × %3"_s
        .arg(fromUtf8(run::modelTitle(config.model)), fromUtf8(toWord(config.strategy)))
        .arg(config.ranks);
}

RunOpening::RunOpening(RecorderSession& session, RecordingLoader& loader, QObject* parent)
    : QObject(parent), m_loader(loader) {
    m_again.setSingleShot(true);
    connect(&m_again, &QTimer::timeout, this, &RunOpening::tryNow);
    connect(&session, &RecorderSession::stateChanged, this, [this](RecorderSession::State state) {
        if (state == RecorderSession::State::kStarting) m_leftAlone = false;
        const bool isOver =
            state == RecorderSession::State::kIdle || state == RecorderSession::State::kEnded;
        if (isOver) starts({});
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
    connect(&loader, &RecordingLoader::sketched, this, [this](const RecordingPtr& sketch) {
        if (sketch->path == m_path) starts({});
    });
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

void RunOpening::starts(const QString& title) {
    if (std::exchange(m_starting, title) != title) Q_EMIT startingChanged();
}

void RunOpening::userOpens(const QString& path) {
    starts({});
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

RunEnding::RunEnding(RecorderSession& session, RecordingLoader& loader, QWidget* window)
    : m_session(session), m_loader(loader), m_window(window) {}

bool RunEnding::canEnd() const {
    return m_session.isGoing() || isOpenRunGoing();
}

bool RunEnding::isOpenRunGoing() const {
    const RecordingPtr recording = m_loader.recording();
    return recording && recording->isRunning() && !recording->isImporting() &&
           !storage::remote::isRemote(recording->path.toStdString());
}

void RunEnding::end(const QString& how) {
    if (m_session.isGoing()) return how == u"kill" ? m_session.kill() : m_session.stop();
    if (!isOpenRunGoing()) return;
    auto* control = new QProcess(this);
    connect(control, &QProcess::finished, this, [this, control] {
        const QByteArray said = control->readAllStandardOutput() + control->readAllStandardError();
        Q_EMIT reported(QString::fromUtf8(said).trimmed());
        control->deleteLater();
    });
    connect(control, &QProcess::errorOccurred, this, [this, control](QProcess::ProcessError error) {
        if (error != QProcess::FailedToStart) return;
        Q_EMIT reported(tr("The run could not be reached: %1.").arg(control->errorString()));
        control->deleteLater();
    });
    control->start(m_recorder.isEmpty() ? findRecorder() : m_recorder,
                   {u"control"_s, m_loader.recording()->path, how});
}

/// Of a run that goes on nothing is lost either way.
QString RunEnding::whatComesOfIt() const {
    if (!m_session.canDetach())
        return tr(
            "What it prints goes to this window, so it ends with it; its recording is "
            "finished first.");
    const QString stays = tr("It can go on without the window: its recording, %1, stays open to "
                             "look at, and Start lists it.")
                              .arg(fromUtf8(m_session.run().output));
    const QString printed = m_session.printedFile();
    if (printed.isEmpty()) return stays;
    return stays + u' ' + tr("What it prints is then kept in %1.").arg(printed);
}

void RunEnding::askBeforeClosing() {
    auto* question =
        new QMessageBox(QMessageBox::Question, tr("A run is going on"),
                        tr("A run is going on in this window."), QMessageBox::NoButton, m_window);
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setInformativeText(whatComesOfIt());
    QAbstractButton* stop = question->addButton(tr("Stop the run"), QMessageBox::DestructiveRole);
    QAbstractButton* letGoOn =
        m_session.canDetach() ? question->addButton(tr("Let it go on"), QMessageBox::AcceptRole)
                              : nullptr;
    QPushButton* stay = question->addButton(QMessageBox::Cancel);
    question->setDefaultButton(stay);
    question->setEscapeButton(stay);
    connect(question, &QMessageBox::buttonClicked, this, [=, this](QAbstractButton* chosen) {
        if (chosen == stop) Q_EMIT stopChosen();
        if (letGoOn != nullptr && chosen == letGoOn) {
            m_session.detach();
            Q_EMIT letGo();
        }
    });
    question->open();
}

}  // namespace shardscope::desktop
