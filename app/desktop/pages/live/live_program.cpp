// What Live draws and says of a program that is no training of ours (LiveProgram).
#include "app/desktop/models/format.h"
#include "app/desktop/pages/live/live_run.h"
#include "engine/run/config/program_run.h"
#include "storage/model/shell_word.h"

#include <QStringList>
#include <algorithm>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

void LiveProgram::begin(const QString& command, std::int64_t nowMs) {
    *this = {};
    m_is = true;
    m_beganMs = nowMs;
    const auto words = wordsOfLine(command.toStdString());
    m_title = words ? fromUtf8(run::programTitle(*words)) : command;
}

void LiveProgram::addStep(const run::StepProgress& step) {
    m_last = step;
    ++m_steps;
    m_seconds = std::max(m_seconds, step.timeSeconds);
    if (step.loss) m_loss.push_back({step.timeSeconds, *step.loss});
    if (step.stepSeconds) m_stepTime.push_back({step.timeSeconds, *step.stepSeconds * 1e3});
}

void LiveProgram::add(const run::ProgramFigures& figures, std::int64_t nowMs) {
    m_figures = figures;
    const double seconds = static_cast<double>(nowMs - m_beganMs) * 1e-3;
    m_seconds = std::max(m_seconds, seconds);
    if (figures.residentSet) m_memory.push_back({seconds, figures.residentSet->mebibytes()});
    if (figures.cores) m_processor.push_back({seconds, *figures.cores});
}

QString LiveProgram::processes() const {
    if (!m_figures) return {};
    QStringList facts{m_figures->processes == 1
                          ? u"1 process"_s
                          : u"%1 processes"_s.arg(formatCount(m_figures->processes))};
    if (m_figures->residentSet) facts << formatBytes(*m_figures->residentSet) + u" resident"_s;
    if (m_figures->cores) facts << formatNumber(*m_figures->cores) + u" cores"_s;
    return facts.join(u", "_s);
}

QString LiveProgram::headline(std::size_t ranks, bool going) const {
    QStringList facts;
    if (m_last && m_last->stepSeconds)
        facts << u"%1 per step"_s.arg(
            formatDuration({static_cast<std::int64_t>(*m_last->stepSeconds * 1e9)}));
    if (m_last && m_last->loss) facts << u"loss %1"_s.arg(formatNumber(*m_last->loss));
    if (going && m_figures) facts << processes();
    const QString what = m_last      ? u"%1 done"_s.arg(formatCounted(m_steps, "step"))
                         : !going    ? u"The program has ended without a step"_s
                         : ranks > 0 ? u"%1, no step has ended yet"_s.arg(
                                           formatCounted(static_cast<std::int64_t>(ranks), "rank"))
                                     : u"The program is running, no rank yet"_s;
    return facts.isEmpty() ? what + u'.' : u"%1: %2."_s.arg(what, facts.join(u", "_s));
}

std::vector<LineSeries> LiveProgram::lossSeries(double smoothing) const {
    return liveCurve(u"loss"_s, m_loss, Meaning::kCompute, smoothing);
}

std::vector<LineSeries> LiveProgram::stepTimeSeries(double smoothing) const {
    return liveCurve(u"slowest rank"_s, m_stepTime, Meaning::kCompute, smoothing);
}

std::vector<LineSeries> LiveProgram::memorySeries(double smoothing) const {
    return liveCurve(u"all processes"_s, m_memory, Meaning::kActivation, smoothing);
}

std::vector<LineSeries> LiveProgram::processorSeries(double smoothing) const {
    return liveCurve(u"all processes"_s, m_processor, Meaning::kHost, smoothing);
}

}  // namespace shardscope::desktop
