// What the window does with runs: opens the recording of the one that it started, and ends one, or
// lets it go when the window closes. GUI thread.
#pragma once

#include "app/desktop/loading/recording_loader.h"
#include "app/desktop/session/recorder_session.h"
#include "engine/run/config/run_config.h"

#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>

class QWidget;

namespace shardscope::desktop {

/// "shakespeare · zero3 × 2", or what a program is called, of a run that has no recording yet.
/// `arguments`: what gives `config`, where they are not run::toArguments(config).
[[nodiscard]] QString titleOf(const run::RunConfig& config, const QStringList& arguments);

/// Opens the recording of the run that this window has started as soon as it can be read, quietly,
/// and until the user opens something else: from then on the choice is theirs.
class RunOpening : public QObject {
    Q_OBJECT

public:
    /// Both outlive it.
    RunOpening(RecorderSession& session, RecordingLoader& loader, QObject* parent = nullptr);

    /// A run called `title` starts.
    void starts(const QString& title);
    /// What has started and has no recording yet that is open; empty: nothing.
    [[nodiscard]] const QString& starting() const { return m_starting; }
    /// The user opens these.
    void userOpens(const QString& path);
    /// The user has opened something else since the run began.
    [[nodiscard]] bool isLeftAlone() const { return m_leftAlone; }

Q_SIGNALS:
    void startingChanged();

private:
    enum class Need { kNone, kStep, kTry, kDone };

    void begin(const run::RunStarted& started);
    void tryNow();
    void loaderOpened(const RecordingPtr& recording);
    void tryAgain(const QString& path);

    RecordingLoader& m_loader;
    QTimer m_again;
    QString m_path;
    QString m_starting;
    QString m_opening;  ///< by whomever; empty: nothing is
    Need m_need = Need::kNone;
    bool m_leftAlone = false;
};

/// Ends a run: one that this window started, or the open recording's, which another window, or this
/// one before, has let go.
class RunEnding : public QObject {
    Q_OBJECT

public:
    /// All outlive it.
    RunEnding(RecorderSession& session, RecordingLoader& loader, QWidget* window);

    /// The program that reaches a run which was let go.
    void setRecorder(const QString& program) { m_recorder = program; }
    [[nodiscard]] bool canEnd() const;
    /// `how`: stop or kill.
    void end(const QString& how);
    /// A run goes on: whether it is to be stopped, or to go on without the window.
    void askBeforeClosing();

Q_SIGNALS:
    void reported(const QString& sentence);
    void stopChosen();
    void letGo();

private:
    [[nodiscard]] bool isOpenRunGoing() const;
    [[nodiscard]] QString whatComesOfIt() const;

    RecorderSession& m_session;
    RecordingLoader& m_loader;
    QWidget* m_window;
    QString m_recorder;
};

}  // namespace shardscope::desktop
