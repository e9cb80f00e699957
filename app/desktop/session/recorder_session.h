// Drives one training run: starts `shardscope record --control stdio` as a child process and
// follows what it says. A state machine without waiting; GUI thread; owns the process.
//
//   idle -> starting -> running -> stopping -> ended
//              |           |                     ^
//              +-----------+---------------------+   (exits, failures, kills)
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/run/protocol/progress.h"

#include <QByteArray>
#include <QObject>
#include <QProcess>
#include <QStringList>
#include <QTemporaryFile>
#include <QTimer>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace shardscope::desktop {

class RecorderSession : public QObject {
    Q_OBJECT

public:
    enum class State { kIdle, kStarting, kRunning, kStopping, kEnded };
    Q_ENUM(State)

    explicit RecorderSession(QObject* parent = nullptr);
    ~RecorderSession() override;

    /// Ignored while a run is going.
    void start(const QString& program, const run::RunConfig& config);
    /// The same with arguments of `shardscope record` as they are. `output`: the recording; what
    /// the run prints is kept in a file beside it while the run goes on, and stays if it is let
    /// go. Empty, or the folder cannot be written: it goes through a pipe.
    void start(const QString& program, const QStringList& arguments, const QString& output = {});
    /// After the current step; the recording is finalised.
    void stop();
    /// At once.
    void kill();
    /// What is captured from some step on: a level, or empty for the run's own schedule.
    void capture(const QString& level);

    /// A run that has begun; a program only where what it prints goes to a file.
    [[nodiscard]] bool canDetach() const;
    /// Where a program's lines go on once it is let go; empty for a run of Shardscope's own.
    [[nodiscard]] QString printedFile() const;
    [[nodiscard]] qint64 processId() const { return m_process->processId(); }
    /// Leaves the run to itself: it goes on, and this session is idle. `shardscope control` ends
    /// it.
    void detach();

    [[nodiscard]] State state() const { return m_state; }
    [[nodiscard]] bool isGoing() const;
    [[nodiscard]] const run::RunStarted& run() const { return m_run; }

Q_SIGNALS:
    void stateChanged(shardscope::desktop::RecorderSession::State state);
    void started(const shardscope::run::RunStarted& run);
    void stepDone(const shardscope::run::StepProgress& step);
    void validationDone(const shardscope::run::ValidationDone& validation);
    void rankChanged(const shardscope::run::RankChanged& rank);
    void rankFigures(const shardscope::run::RankFigures& figures);
    void programFigures(const shardscope::run::ProgramFigures& figures);
    void sampled(const shardscope::run::SampleText& sample);
    void hostChanged(const shardscope::run::HostChanged& host);
    void logged(const shardscope::run::RecorderLog& line);
    /// Its output is empty where there is no recording.
    void finished(const shardscope::run::RunFinished& outcome);

private:
    std::unique_ptr<QProcess> makeProcess();
    void printBeside(const QString& output);
    void readPrinted();
    void setState(State state);
    void readEvents();
    void takeErrors(const QByteArray& text);
    void logErrors(bool all);
    void tellHost(const run::HostChanged& host);
    void handle(const run::ProgressEvent& event);
    void processEnded(int exitCode, QProcess::ExitStatus status);
    void processFailed(QProcess::ProcessError error);
    void end(run::RunFinished outcome);
    void send(const char* command);

    std::unique_ptr<QProcess> m_process;
    std::unique_ptr<QTemporaryFile> m_printed;  ///< null: what is printed goes through a pipe
    QTimer m_printedLook;
    State m_state = State::kIdle;
    run::RunStarted m_run;
    std::optional<run::RunFinished> m_outcome;         ///< said by the recorder before it exits
    QByteArray m_lastWords;                            ///< tail of its stderr
    QByteArray m_errorLine;                            ///< of the same, what is no whole line yet
    std::map<std::int32_t, std::string> m_hostStates;  ///< last reported state of each host
    bool m_killed = false;
};

/// `shardscope` beside this program, else in PATH; empty when there is none.
[[nodiscard]] QString findRecorder();

}  // namespace shardscope::desktop
