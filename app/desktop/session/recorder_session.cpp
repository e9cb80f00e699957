#include "app/desktop/session/recorder_session.h"

#include "engine/run/config/run_option.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QStandardPaths>
#include <algorithm>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kLastWords = 4000;
constexpr int kKillDelayMs = 2000;
constexpr int kDetachMs = 500;
constexpr int kPrintedLookMs = 100;
constexpr qint64 kMostPrintedAtOnce = 1 << 20;
constexpr qint64 kMostBehind = 16 * kMostPrintedAtOnce;
constexpr qsizetype kLongestLine = 4000;
constexpr qsizetype kMostLinesAtOnce = 2000;

}  // namespace

RecorderSession::RecorderSession(QObject* parent) : QObject(parent), m_process(makeProcess()) {
    m_printedLook.setInterval(kPrintedLookMs);
    connect(&m_printedLook, &QTimer::timeout, this, &RecorderSession::readPrinted);
}

std::unique_ptr<QProcess> RecorderSession::makeProcess() {
    auto process = std::make_unique<QProcess>();
    connect(process.get(), &QProcess::readyReadStandardOutput, this, &RecorderSession::readEvents);
    connect(process.get(), &QProcess::readyReadStandardError, this,
            [this] { takeErrors(m_process->readAllStandardError()); });
    connect(process.get(), &QProcess::finished, this, &RecorderSession::processEnded);
    connect(process.get(), &QProcess::errorOccurred, this, &RecorderSession::processFailed);
    return process;
}

RecorderSession::~RecorderSession() {
    m_process->disconnect(this);
    // the window closes after the run has ended; this is for a window that is torn down early
    if (m_process->state() != QProcess::NotRunning) m_process->kill();
}

bool RecorderSession::isGoing() const {
    return m_state == State::kStarting || m_state == State::kRunning || m_state == State::kStopping;
}

void RecorderSession::start(const QString& program, const run::RunConfig& config) {
    QStringList arguments;
    for (const std::string& word : run::toArguments(config))
        arguments << QString::fromStdString(word);
    start(program, arguments);
}

void RecorderSession::start(const QString& program, const QStringList& arguments,
                            const QString& output) {
    if (isGoing()) return;
    m_run = {};
    m_outcome.reset();
    m_hostStates.clear();
    m_lastWords.clear();
    m_errorLine.clear();
    m_killed = false;
    setState(State::kStarting);
    if (program.isEmpty()) {
        end({"failed",
             {},
             4,
             tr("The program shardscope is neither beside shardscope-desktop nor in PATH; "
                "install it or add its folder to PATH.")
                 .toStdString()});
        return;
    }
    printBeside(output);
    m_process->start(program, QStringList{u"record"_s, u"--control"_s, u"stdio"_s} + arguments);
}

/// A program that writes to a pipe without a reader is ended by SIGPIPE; one that writes to a file
/// can be let go.
void RecorderSession::printBeside(const QString& output) {
    m_process->setStandardErrorFile({});
    m_printed.reset();
    if (output.isEmpty()) return;
    auto file =
        std::make_unique<QTemporaryFile>(QFileInfo(output).absoluteFilePath() + u".XXXXXX.txt"_s);
    if (!file->open()) return;
    m_process->setStandardErrorFile(file->fileName(), QIODevice::Append);
    m_printed = std::move(file);
    m_printedLook.start();
}

/// A part at a time: a program may write faster than a log can be shown.
void RecorderSession::readPrinted() {
    const qint64 behind = m_printed->size() - m_printed->pos();
    if (behind > kMostBehind) {
        const qint64 skipped = behind - kMostPrintedAtOnce;
        m_printed->seek(m_printed->pos() + skipped);
        Q_EMIT logged({"warning", tr("%1 million bytes that were printed are left out")
                                      .arg(skipped / 1'000'000)
                                      .toStdString()});
    }
    takeErrors(m_printed->read(kMostPrintedAtOnce));
}

void RecorderSession::stop() {
    if (m_state != State::kStarting && m_state != State::kRunning) return;
    send("stop");
    setState(State::kStopping);
}

void RecorderSession::kill() {
    if (!isGoing()) return;
    m_killed = true;
    send("kill");
    setState(State::kStopping);
    QTimer::singleShot(kKillDelayMs, this, [this, pid = m_process->processId()] {
        if (m_process->processId() == pid) m_process->kill();
    });
}

bool RecorderSession::canDetach() const {
    return m_state == State::kRunning && (m_run.command.empty() || m_printed);
}

QString RecorderSession::printedFile() const {
    return m_printed && !m_run.command.empty() ? m_printed->fileName() : QString();
}

void RecorderSession::detach() {
    if (!canDetach()) return;
    send("detach");
    m_process->waitForBytesWritten(kDetachMs);
    m_process->disconnect(this);
    if (m_printed) m_printed->setAutoRemove(printedFile().isEmpty());
    m_printedLook.stop();
    m_printed.reset();
    // never destroyed: its end would be the run's
    static_cast<void>(m_process.release());
    m_process = makeProcess();
    setState(State::kIdle);
}

void RecorderSession::capture(const QString& level) {
    if (m_state != State::kStarting && m_state != State::kRunning) return;
    QByteArray command = R"({"command":"capture")";
    if (!level.isEmpty()) command += R"(,"level":")" + level.toLatin1() + '"';
    m_process->write(command + "}\n");
}

void RecorderSession::send(const char* command) {
    m_process->write(QByteArray(R"({"command":")") + command + "\"}\n");
}

void RecorderSession::setState(State state) {
    if (m_state == state) return;
    m_state = state;
    Q_EMIT stateChanged(state);
}

void RecorderSession::readEvents() {
    while (m_process->canReadLine()) {
        const QByteArray line = m_process->readLine().trimmed();
        if (line.isEmpty()) continue;
        const auto event = run::decodeProgress(line.toStdString());
        if (!event) {
            Q_EMIT logged({"warning", event.error().message});
        } else if (*event) {
            handle(**event);
        }
    }
}

void RecorderSession::takeErrors(const QByteArray& text) {
    m_lastWords = (m_lastWords + text).right(kLastWords);
    m_errorLine += text;
    logErrors(false);
}

/// What a program writes there is followed line by line; one that writes without end does not hold
/// the window up. A line that is drawn anew (a progress bar) is one with each drawing.
void RecorderSession::logErrors(bool all) {
    m_errorLine.replace('\r', '\n');
    QList<QByteArray> lines = m_errorLine.split('\n');
    m_errorLine = all || lines.back().size() > kLongestLine ? QByteArray() : lines.takeLast();
    const qsizetype first = std::max<qsizetype>(0, lines.size() - kMostLinesAtOnce);
    if (first > 0)
        Q_EMIT logged(
            {"warning", tr("%1 lines that came at once are left out").arg(first).toStdString()});
    for (const QByteArray& line : lines.mid(first))
        if (!line.trimmed().isEmpty())
            Q_EMIT logged({"info", QString::fromUtf8(line.left(kLongestLine)).toStdString()});
}

void RecorderSession::handle(const run::ProgressEvent& event) {
    if (const auto* begun = std::get_if<run::RunStarted>(&event)) {
        m_run = *begun;
        if (m_state == State::kStarting) setState(State::kRunning);
        Q_EMIT started(*begun);
    } else if (const auto* step = std::get_if<run::StepProgress>(&event)) {
        Q_EMIT stepDone(*step);
    } else if (const auto* validation = std::get_if<run::ValidationDone>(&event)) {
        Q_EMIT validationDone(*validation);
    } else if (const auto* rank = std::get_if<run::RankChanged>(&event)) {
        Q_EMIT rankChanged(*rank);
    } else if (const auto* figures = std::get_if<run::RankFigures>(&event)) {
        Q_EMIT rankFigures(*figures);
    } else if (const auto* program = std::get_if<run::ProgramFigures>(&event)) {
        Q_EMIT programFigures(*program);
    } else if (const auto* sample = std::get_if<run::SampleText>(&event)) {
        Q_EMIT sampled(*sample);
    } else if (const auto* host = std::get_if<run::HostChanged>(&event)) {
        tellHost(*host);
        Q_EMIT hostChanged(*host);
    } else if (const auto* line = std::get_if<run::RecorderLog>(&event)) {
        Q_EMIT logged(*line);
    } else if (const auto* outcome = std::get_if<run::RunFinished>(&event)) {
        m_outcome = *outcome;  // reported on exit, when the file is closed
    }
}

/// Once for each state: what is sent in it comes often.
void RecorderSession::tellHost(const run::HostChanged& host) {
    const std::string text =
        host.name + ": " + host.state + (host.detail.empty() ? "" : " ") + host.detail;
    if (std::exchange(m_hostStates[host.host], text) != text) Q_EMIT logged({"info", text});
}

void RecorderSession::processEnded(int exitCode, QProcess::ExitStatus status) {
    readEvents();
    if (m_printed) {
        m_printedLook.stop();
        const qint64 end = m_printed->size();  // processes that outlive the run may go on
        while (m_printed->pos() < end) readPrinted();
        m_printed.reset();
    } else {
        takeErrors(m_process->readAllStandardError());
    }
    logErrors(true);
    if (m_outcome) {
        end(*m_outcome);
        return;
    }
    run::RunFinished outcome{m_killed ? "killed" : "failed", m_run.output, exitCode, {}};
    const QString words = QString::fromUtf8(m_lastWords).trimmed();
    QString message =
        status == QProcess::CrashExit
            ? tr("The recorder ended unexpectedly; what it had received is in the recording.")
            : tr("The recorder ended with status %1 before it said how the run went.")
                  .arg(exitCode);
    if (!words.isEmpty()) message += u' ' + words.section(u'\n', -1);
    outcome.message = message.toStdString();
    end(outcome);
}

void RecorderSession::processFailed(QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    m_printedLook.stop();
    m_printed.reset();
    end({"failed",
         {},
         4,
         tr("%1 could not be started: %2.")
             .arg(m_process->program(), m_process->errorString())
             .toStdString()});
}

void RecorderSession::end(run::RunFinished outcome) {
    if (m_state == State::kEnded) return;
    if (outcome.output.empty()) outcome.output = m_run.output;
    setState(State::kEnded);
    Q_EMIT finished(outcome);
}

QString findRecorder() {
    const QString folder = QCoreApplication::applicationDirPath();
    QString beside = folder + u"/shardscope"_s;
    if (QFileInfo(beside).isExecutable()) return beside;
    return QStandardPaths::findExecutable(u"shardscope"_s);
}

}  // namespace shardscope::desktop
