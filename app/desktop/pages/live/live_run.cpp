#include "app/desktop/pages/live/live_run.h"

#include "app/desktop/models/curves.h"
#include "app/desktop/models/format.h"

#include <QRegularExpression>
#include <QStringList>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr std::size_t kLongestLog = 50'000;
constexpr std::size_t kMostSamples = 200;
/// With less left than this the run is about to end, and no time is said.
constexpr double kShortestLeft = 1;

/// "rank 3: ..." or "... rank 3 ...": the first rank that is named.
std::optional<int> rankIn(const QString& text) {
    static const QRegularExpression named(u"\\brank (\\d+)\\b"_s);
    const auto match = named.match(text);
    if (!match.hasMatch()) return std::nullopt;
    return match.captured(1).toInt();
}

void append(QVector<QPointF>& points, int step, std::optional<double> value) {
    if (value) points.push_back({static_cast<double>(step), *value});
}

}  // namespace

std::vector<LineSeries> liveCurve(const QString& name, const QVector<QPointF>& points,
                                  Meaning meaning, double smoothing) {
    if (smoothing <= 0 || points.size() < 3) return {{name, points, meaning}};
    LineSeries raw{name, points, meaning};
    raw.pale = true;
    return {raw, {name, smoothed(points, smoothing), meaning}};
}

LiveRun::LiveRun(QObject* parent) : QObject(parent) {}

void LiveRun::clear() {
    m_title.clear();
    m_program = {};
    m_output.clear();
    m_status.clear();
    m_message.clear();
    m_steps = 0;
    m_hasStep = false;
    m_last = {};
    for (auto* points : {&m_loss, &m_validation, &m_throughput, &m_memory, &m_blocked})
        points->clear();
    m_ranks.clear();
    m_hosts.clear();
    m_samples.clear();
    m_log.clear();
    m_forgotten = 0;
    Q_EMIT changed();
}

void LiveRun::begin(const QString& model, const QString& strategy, int ranks, int steps,
                    const QString& output) {
    m_title = u"%1 · %2 × %3"_s.arg(model, strategy).arg(ranks);
    m_steps = steps;
    m_output = output;
    for (int rank = 0; rank < ranks; ++rank)
        m_ranks.try_emplace(rank, LiveRank{u"starting"_s, 0, {}, 0});
    Q_EMIT changed();
}

void LiveRun::beginProgram(const QString& command, const QString& output, std::int64_t nowMs) {
    m_program.begin(command, nowMs);
    m_title = m_program.title();
    m_output = output;
    addLog(u"info"_s, command);
}

void LiveRun::setProgramFigures(const run::ProgramFigures& figures, std::int64_t nowMs) {
    m_program.add(figures, nowMs);
    Q_EMIT changed();
}

void LiveRun::addStep(const run::StepProgress& step) {
    m_last = step;
    m_hasStep = true;
    if (m_program.is()) m_program.addStep(step);
    if (step.steps > 0) m_steps = step.steps;
    append(m_loss, step.step, step.loss);
    append(m_throughput, step.step, step.tokensPerSecond);
    if (step.memory) append(m_memory, step.step, step.memory->mebibytes());
    if (step.blockedFraction) append(m_blocked, step.step, *step.blockedFraction * 100);
    Q_EMIT changed();
}

void LiveRun::addValidation(int step, double loss) {
    append(m_validation, step, loss);
    Q_EMIT changed();
}

void LiveRun::setRank(int rank, const QString& state, std::int64_t pid) {
    LiveRank& known = m_ranks[rank];
    known.state = state;
    known.pid = pid;
    Q_EMIT changed();
}

void LiveRun::setFigures(const run::RankFigures& figures, std::int64_t nowMs) {
    LiveRank& rank = m_ranks[figures.rank];
    rank.figures = figures;
    rank.heardMs = nowMs;
    Q_EMIT changed();
}

void LiveRun::addSample(int step, const QString& text) {
    m_samples.push_back({step, text});
    if (m_samples.size() > kMostSamples) m_samples.pop_front();
    Q_EMIT changed();
}

QString LiveHost::text() const {
    QString text = name + u' ' + state;
    if (!detail.isEmpty()) text += u' ' + detail;
    if (all > 0)
        text += u", "_s + formatPercent(static_cast<double>(sent) / static_cast<double>(all));
    return text;
}

void LiveRun::setHost(int host, LiveHost state) {
    m_hosts[host] = std::move(state);
    Q_EMIT changed();
}

void LiveRun::addLog(const QString& level, const QString& text) {
    m_log.push_back({level, text, rankIn(text)});
    if (m_log.size() > kLongestLog) {
        m_log.pop_front();
        ++m_forgotten;
    }
    Q_EMIT changed();
}

void LiveRun::setStatus(const QString& status, const QString& message) {
    m_status = status;
    m_message = message;
    // the recorder calls every rank that did not end by itself "failed"
    if (status == u"killed"_s)
        for (auto& [number, rank] : m_ranks)
            if (rank.state != u"finished"_s) rank.state = u"killed"_s;
    Q_EMIT changed();
}

QString LiveRun::headline() const {
    if (m_status == u"starting"_s)
        return m_program.is() ? u"Starting the program…"_s : u"Starting the ranks…"_s;
    if (m_program.is()) {
        const bool runs = m_status == u"running"_s || m_status == u"stopping"_s;
        if (runs || m_hasStep || m_message.isEmpty())
            return m_program.headline(m_ranks.size(), runs);
        return m_message.left(1).toUpper() + m_message.mid(1) + u'.';
    }
    if (!m_hasStep) {
        if (m_status == u"running"_s) return u"Ranks are running; the first step is on its way."_s;
        return m_message.isEmpty() ? u"The run ended before its first step."_s : m_message;
    }
    QStringList facts;
    if (m_last.loss) facts << u"loss %1 nats"_s.arg(formatNumber(*m_last.loss));
    if (m_last.tokensPerSecond)
        facts << ValueText{formatNumber(*m_last.tokensPerSecond), u"tok/s"_s}.joined();
    const bool going = m_status == u"running"_s || m_status == u"stopping"_s;
    if (going && m_steps > 0 && stepsDone() >= m_steps) {
        facts << u"the recording is being finished"_s;
    } else if (going && m_last.secondsLeft && *m_last.secondsLeft >= kShortestLeft) {
        const Duration left{static_cast<std::int64_t>(*m_last.secondsLeft * 1e9)};
        facts << u"about %1 left"_s.arg(formatLongTime(left));
    }
    // steps are numbered from 0, here and everywhere: this counts those that are done
    return u"%1 of %2 steps done: %3."_s.arg(formatCount(stepsDone()), formatCount(m_steps),
                                             facts.join(u", "_s));
}

QString LiveRun::subline() const {
    QStringList parts;
    if (!m_title.isEmpty()) parts << m_title;
    if (m_status == u"stopping"_s) {
        parts << (m_program.is() ? u"stopping: SIGTERM was sent to the program"_s
                                 : u"stopping after this step"_s);
    } else {
        parts << m_status;
    }
    if (!m_output.isEmpty()) parts << m_output;
    return parts.join(u" · "_s);
}

std::vector<LineSeries> LiveRun::lossSeries(double smoothing) const {
    auto series = liveCurve(u"training"_s, m_loss, Meaning::kCompute, smoothing);
    series.push_back({u"validation"_s, m_validation, Meaning::kReduction, true});
    return series;
}

std::vector<LineSeries> LiveRun::throughputSeries(double smoothing) const {
    return liveCurve(u"tokens/s"_s, m_throughput, Meaning::kCompute, smoothing);
}

std::vector<LineSeries> LiveRun::memorySeries(double smoothing) const {
    return liveCurve(u"largest rank"_s, m_memory, Meaning::kActivation, smoothing);
}

std::vector<LineSeries> LiveRun::blockedSeries(double smoothing) const {
    return liveCurve(u"blocked in collectives"_s, m_blocked, Meaning::kReduction, smoothing);
}

bool LogFilter::passes(const LiveLogLine& line) const {
    if (least > 0 && line.level == u"info"_s) return false;
    if (least > 1 && line.level != u"error"_s) return false;
    if (rank && line.rank != rank) return false;
    return text.isEmpty() || line.text.contains(text, Qt::CaseInsensitive);
}

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
        if (!started.command.empty())
            return m_run.beginProgram(fromUtf8(started.command), fromUtf8(started.output), nowMs());
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
    connect(
        &session, &RecorderSession::programFigures, this,
        [this](const run::ProgramFigures& figures) { m_run.setProgramFigures(figures, nowMs()); });
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
