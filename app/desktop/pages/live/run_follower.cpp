#include "app/desktop/pages/live/run_follower.h"

#include "app/desktop/models/format.h"

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

RunFollower::RunFollower(RecorderSession& session, LiveRun& run, QObject* parent)
    : QObject(parent), m_run(run) {
    m_clock.start();
    connect(&session, &RecorderSession::stateChanged, this, [this](RecorderSession::State state) {
        if (state == RecorderSession::State::kStarting) {
            m_run.clear();
            m_run.setStatus(u"starting"_s, {});
        }
        if (state == RecorderSession::State::kRunning) m_run.setStatus(u"running"_s, {});
        if (state == RecorderSession::State::kStopping) m_run.setStatus(u"stopping"_s, {});
    });
    connect(&session, &RecorderSession::started, this, [this](const run::RunStarted& started) {
        m_run.begin(fromUtf8(started.model), fromUtf8(started.strategy), started.ranks,
                    started.steps, fromUtf8(started.output));
    });
    connect(&session, &RecorderSession::stepDone, this,
            [this](const run::StepProgress& step) { m_run.addStep(step); });
    connect(&session, &RecorderSession::validationDone, this,
            [this](const run::ValidationDone& validation) {
                m_run.addValidation(validation.step, validation.loss);
            });
    connect(&session, &RecorderSession::rankChanged, this, [this](const run::RankChanged& rank) {
        m_run.setRank(rank.rank, fromUtf8(rank.state), rank.pid);
    });
    connect(&session, &RecorderSession::rankFigures, this,
            [this](const run::RankFigures& figures) { m_run.setFigures(figures, nowMs()); });
    connect(&session, &RecorderSession::sampled, this, [this](const run::SampleText& sample) {
        m_run.addSample(sample.step, fromUtf8(sample.text));
    });
    connect(&session, &RecorderSession::hostChanged, this, [this](const run::HostChanged& host) {
        m_run.setHost(host.host, {fromUtf8(host.name), fromUtf8(host.state), fromUtf8(host.detail),
                                  host.sent.count, host.all.count});
    });
    connect(&session, &RecorderSession::logged, this, [this](const run::RecorderLog& line) {
        m_run.addLog(fromUtf8(line.level), fromUtf8(line.text));
    });
    connect(&session, &RecorderSession::finished, this, &RunFollower::end);
}

void RunFollower::end(const run::RunFinished& outcome) {
    const QString status = fromUtf8(outcome.status), message = fromUtf8(outcome.message);
    m_run.setStatus(status, message);
    if (!message.isEmpty()) m_run.addLog(status == u"failed"_s ? u"error"_s : u"info"_s, message);
}

}  // namespace shardscope::desktop
