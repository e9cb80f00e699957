// Carries what a recorder session says into the model of the Live page. GUI thread; both
// outlive it.
#pragma once

#include "app/desktop/models/live_run.h"
#include "app/desktop/session/recorder_session.h"

#include <QObject>

namespace shardscope::desktop {

class RunFollower : public QObject {
    Q_OBJECT

public:
    RunFollower(RecorderSession& session, LiveRun& run, QObject* parent = nullptr);

Q_SIGNALS:
    /// The run has ended; `path` is its recording, or empty when there is none.
    void ended(const QString& path, const QString& status);

private:
    void end(const run::RunFinished& outcome);

    RecorderSession& m_session;
    LiveRun& m_run;
};

}  // namespace shardscope::desktop
