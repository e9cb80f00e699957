#include "app/desktop/shell/run_follower.h"

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

RunFollower::RunFollower(RecorderSession& session, LiveRun& run, QObject* parent)
    : QObject(parent), m_session(session), m_run(run) {
    connect(&session, &RecorderSession::stateChanged, this, [this](RecorderSession::State state) {
        if (state == RecorderSession::State::kStarting) {
            m_run.clear();
            m_run.setStatus(u"starting"_s, {});
        }
        if (state == RecorderSession::State::kRunning) m_run.setStatus(u"running"_s, {});
        if (state == RecorderSession::State::kStopping) m_run.setStatus(u"stopping"_s, {});
    });
    connect(&session, &RecorderSession::started, this, [this](const RunStarted& started) {
        m_run.begin(started.model, started.strategy, started.ranks, started.steps, started.output);
    });
    connect(&session, &RecorderSession::stepDone, this, [this](const StepProgress& step) {
        m_run.addStep({step.step, step.steps, step.loss, step.tokensPerSecond, step.memoryBytes,
                       step.blockedFraction, step.secondsLeft});
    });
    connect(&session, &RecorderSession::validationDone, this,
            [this](const ValidationDone& validation) {
                m_run.addValidation(validation.step, validation.loss);
            });
    connect(&session, &RecorderSession::rankChanged, this,
            [this](const RankChanged& rank) { m_run.setRank(rank.rank, rank.state, rank.pid); });
    connect(&session, &RecorderSession::logged, this,
            [this](const RecorderLog& line) { m_run.addLog(line.level, line.text); });
    connect(&session, &RecorderSession::finished, this, &RunFollower::end);
}

void RunFollower::end(const RunFinished& outcome) {
    const QString path = outcome.output.isEmpty() ? m_session.run().output : outcome.output;
    m_run.setStatus(outcome.status, outcome.message);
    if (!outcome.message.isEmpty()) {
        m_run.addLog(outcome.status == u"failed"_s ? u"error"_s : u"info"_s, outcome.message);
    }
    Q_EMIT ended(path, outcome.status);
}

}  // namespace shardscope::desktop
