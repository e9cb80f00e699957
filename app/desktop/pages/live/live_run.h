// What is known of a run that is going: series, ranks, log, and the sentences about it. Fed by
// the session's events. GUI thread; knows no widget and no process.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/session/recorder_session.h"
#include "engine/run/protocol/progress.h"
#include "storage/model/units.h"

#include <QElapsedTimer>
#include <QObject>
#include <QPointF>
#include <QString>
#include <QVector>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace shardscope::desktop {

struct LiveRank {
    QString state;
    std::int64_t pid = 0;
    std::optional<run::RankFigures> figures;  ///< the newest
    std::int64_t heardMs = 0;                 ///< when they came
};

/// Text that the model wrote.
struct LiveSample {
    int step = 0;
    QString text;
};

/// A host on the way to its agent, or whose events are fetched at the end.
struct LiveHost {
    QString name;
    QString state;  ///< run::HostChanged::state
    QString detail;
    std::int64_t sent = 0, all = 0;  ///< bytes of what is on its way; 0: nothing
    /// "node-b sending the program, 40 %"
    [[nodiscard]] QString text() const;
};

struct LiveLogLine {
    QString level;
    QString text;
    std::optional<int> rank;  ///< that the line speaks of
};

/// A program that is no training of ours: what is drawn of it, over time in seconds.
class LiveProgram {
public:
    /// `command` as in a shell; `nowMs` as LiveRun::setFigures() has it.
    void begin(const QString& command, std::int64_t nowMs);
    void addStep(const run::StepProgress& step);
    void add(const run::ProgramFigures& figures, std::int64_t nowMs);

    /// False: the run is a training of ours.
    [[nodiscard]] bool is() const { return m_is; }
    /// "torchrun train.py"
    [[nodiscard]] const QString& title() const { return m_title; }
    /// "40 steps done: 103 ms per step, loss 5.61; 3 processes, 1.8 GiB resident."
    [[nodiscard]] QString headline(std::size_t ranks, bool going) const;
    [[nodiscard]] std::vector<LineSeries> lossSeries(double smoothing) const;
    [[nodiscard]] std::vector<LineSeries> stepTimeSeries(double smoothing) const;   ///< ms
    [[nodiscard]] std::vector<LineSeries> memorySeries(double smoothing) const;     ///< MiB
    [[nodiscard]] std::vector<LineSeries> processorSeries(double smoothing) const;  ///< cores
    /// Up to the newest point.
    [[nodiscard]] double seconds() const { return m_seconds; }

private:
    [[nodiscard]] QString processes() const;

    bool m_is = false;
    QString m_title;
    std::int64_t m_beganMs = 0;
    double m_seconds = 0;
    std::int64_t m_steps = 0;
    std::optional<run::StepProgress> m_last;
    std::optional<run::ProgramFigures> m_figures;
    QVector<QPointF> m_loss, m_stepTime, m_memory, m_processor;
};

/// Which lines of the log are shown.
struct LogFilter {
    int least = 0;  ///< 0 everything, 1 warnings and errors, 2 errors
    std::optional<int> rank;
    QString text;  ///< anywhere in the line, whatever its case
    [[nodiscard]] bool passes(const LiveLogLine& line) const;
};

/// A line; smoothed, with its own points pale behind it.
[[nodiscard]] std::vector<LineSeries> liveCurve(const QString& name, const QVector<QPointF>& points,
                                                Meaning meaning, double smoothing);

class LiveRun : public QObject {
    Q_OBJECT

public:
    explicit LiveRun(QObject* parent = nullptr);
    void begin(const QString& model, const QString& strategy, int ranks, int steps,
               const QString& output);
    /// `command` as in a shell.
    void beginProgram(const QString& command, const QString& output, std::int64_t nowMs);
    void setProgramFigures(const run::ProgramFigures& figures, std::int64_t nowMs);
    void addStep(const run::StepProgress& step);
    void addValidation(int step, double loss);
    void setRank(int rank, const QString& state, std::int64_t pid);
    /// `nowMs`: of any clock that only goes forwards.
    void setFigures(const run::RankFigures& figures, std::int64_t nowMs);
    void addSample(int step, const QString& text);
    void setHost(int host, LiveHost state);
    void addLog(const QString& level, const QString& text);
    /// `status`: starting, running, stopping, or how it ended.
    void setStatus(const QString& status, const QString& message);
    void clear();

    [[nodiscard]] bool isEmpty() const { return m_status.isEmpty(); }
    [[nodiscard]] QString headline() const;
    [[nodiscard]] QString subline() const;
    [[nodiscard]] std::vector<LineSeries> lossSeries(double smoothing = 0) const;
    [[nodiscard]] std::vector<LineSeries> throughputSeries(double smoothing = 0) const;
    [[nodiscard]] std::vector<LineSeries> memorySeries(double smoothing = 0) const;   ///< MiB
    [[nodiscard]] std::vector<LineSeries> blockedSeries(double smoothing = 0) const;  ///< percent
    [[nodiscard]] const LiveProgram& program() const { return m_program; }
    [[nodiscard]] const std::map<int, LiveRank>& ranks() const { return m_ranks; }
    /// By host; none where all ranks are here.
    [[nodiscard]] const std::map<int, LiveHost>& hosts() const { return m_hosts; }
    /// The newest ones, oldest first.
    [[nodiscard]] const std::deque<LiveSample>& samples() const { return m_samples; }
    /// The newest lines, oldest first.
    [[nodiscard]] const std::deque<LiveLogLine>& log() const { return m_log; }
    /// Lines that came before these and are not kept.
    [[nodiscard]] std::size_t forgottenLines() const { return m_forgotten; }
    [[nodiscard]] const QString& output() const { return m_output; }
    [[nodiscard]] bool hasStep() const { return m_hasStep; }
    [[nodiscard]] int steps() const { return m_steps; }
    [[nodiscard]] int stepsDone() const { return m_last.step + (m_hasStep ? 1 : 0); }
    [[nodiscard]] const QString& status() const { return m_status; }
    [[nodiscard]] const QString& message() const { return m_message; }

Q_SIGNALS:
    void changed();

private:
    QString m_title, m_output, m_status, m_message;
    int m_steps = 0;
    bool m_hasStep = false;
    run::StepProgress m_last;
    QVector<QPointF> m_loss, m_validation, m_throughput, m_memory, m_blocked;
    LiveProgram m_program;
    std::map<int, LiveRank> m_ranks;
    std::map<int, LiveHost> m_hosts;
    std::deque<LiveSample> m_samples;
    std::deque<LiveLogLine> m_log;
    std::size_t m_forgotten = 0;
};

// Carries what a recorder session says into the model of the Live page. GUI thread; both
// outlive it.

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
