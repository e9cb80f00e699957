// Carries what a recorder session says into the model of the Live page. GUI thread; both
// outlive it.
#pragma once

#include "app/desktop/pages/live/live_run.h"
#include "app/desktop/session/recorder_session.h"

#include <QObject>

namespace shardscope::desktop {

class RunFollower : public QObject {
    Q_OBJECT

public:
    RunFollower(RecorderSession& session, LiveRun& run, QObject* parent = nullptr);

private:
    void end(const run::RunFinished& outcome);

    LiveRun& m_run;
};

}  // namespace shardscope::desktop
