// Carries what a recorder session says into the model of the Live page. GUI thread; both
// outlive it.
#pragma once

#include "app/desktop/pages/live/live_run.h"
#include "app/desktop/session/recorder_session.h"

#include <QElapsedTimer>
#include <QObject>
#include <cstdint>

namespace shardscope::desktop {

class RunFollower : public QObject {
    Q_OBJECT

public:
    RunFollower(RecorderSession& session, LiveRun& run, QObject* parent = nullptr);
    /// The clock of LiveRun::setFigures().
    [[nodiscard]] std::int64_t nowMs() const { return m_clock.elapsed(); }

private:
    void end(const run::RunFinished& outcome);

    LiveRun& m_run;
    QElapsedTimer m_clock;
};

}  // namespace shardscope::desktop
