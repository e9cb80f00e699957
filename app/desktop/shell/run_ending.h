// How a run is ended from the window, or let go when the window closes: one that this window
// started, or the open recording's, which another window, or this one before, has let go. GUI
// thread.
#pragma once

#include "app/desktop/loading/recording_loader.h"
#include "app/desktop/session/recorder_session.h"

#include <QObject>
#include <QString>

class QWidget;

namespace shardscope::desktop {

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
