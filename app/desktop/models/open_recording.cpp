#include "app/desktop/models/open_recording.h"

#include "app/desktop/models/curves.h"
#include "app/desktop/models/format.h"
#include "app/desktop/models/run_name.h"
#include "profiler/analysis/report/lacks.h"
#include "storage/model/process_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/model/step_time.h"

#include <QPointF>
#include <QStringList>
#include <algorithm>

namespace shardscope::desktop {
using namespace Qt::StringLiterals;
namespace {

/// After what the user calls the run, if anything.
QString afterName(const OpenRecording& recording, const QString& text) {
    const QString name = runName(recording.summary.facts);
    return name.isEmpty() ? text : u"%1 · %2"_s.arg(name, text);
}

/// What it is by itself.
QString plainTitle(const OpenRecording& recording) {
    const RecordingSummary& summary = recording.summary;
    const QString ranks = formatCounted(static_cast<std::int64_t>(summary.ranks.size()), "rank");
    if (const auto own = recording.program()) {
        const QString name = fromUtf8(run::programTitle(own->command));
        // Without a rank, rank 0 stands for the program as a whole.
        const bool hasRank =
            !summary.ranks.empty() && !analysis::hasNoRank(summary.run, summary.processes);
        return hasRank ? u"%1 · %2"_s.arg(name, ranks) : name;
    }
    if (!recording.isOwn()) {
        const QStringList files = recording.address().split(u'\n');
        QString name = files.front().section(u'/', -1, -1, QString::SectionSkipEmpty);
        if (files.size() > 1) name += u" + %1"_s.arg(files.size() - 1);
        return u"%1 · %2"_s.arg(name, ranks);
    }
    return u"%1 · %2 × %3"_s.arg(fromUtf8(summary.run.model), fromUtf8(summary.run.strategy))
        .arg(summary.run.worldSize);
}

}  // namespace

const LaneFacts* OpenRecording::lane(LaneAddress key) const {
    for (const LaneFacts& lane : summary.lanes) {
        if (lane.rank == key.rank && lane.lane == key.lane) return &lane;
    }
    return nullptr;
}

std::optional<StepSpan> OpenRecording::stepsIn(TimeRange range) const {
    // of all of a long run there is no need to look at each
    if (range.begin <= bounds().begin && range.end >= bounds().end && !summary.steps.empty())
        return StepSpan{summary.steps.front().step, summary.steps.back().step};
    std::optional<StepSpan> span;
    for (const StepFacts& step : summary.steps) {
        if (step.start < range.begin || step.end > range.end) continue;
        if (!span) span = StepSpan{step.step, step.step};
        span->first = std::min(span->first, step.step);
        span->last = std::max(span->last, step.step);
    }
    return span;
}

std::optional<StepSpan> OpenRecording::stepsOf(const Selection& selection) const {
    return selection.steps ? selection.steps : stepsIn(selection.range.value_or(bounds()));
}

TimeRange OpenRecording::timeOf(const Selection& selection) const {
    if (selection.range) return *selection.range;
    if (!selection.steps) return bounds();
    const auto [first, last] = *selection.steps;
    return timeOfSteps(summary.steps, first, last, selection.ranks).value_or(bounds());
}

std::optional<StepIndex> OpenRecording::stepBeside(const Selection& selection,
                                                   StepWalk walk) const {
    if (!figures || figures->curves.times.isEmpty()) return std::nullopt;
    std::vector<QPointF> steps(figures->curves.times.begin(), figures->curves.times.end());
    const bool byTime = walk == StepWalk::kSlower || walk == StepWalk::kFaster;
    if (byTime)
        std::stable_sort(steps.begin(), steps.end(),
                         [](const QPointF& a, const QPointF& b) { return a.y() > b.y(); });
    const bool isBack = walk == StepWalk::kPrevious || walk == StepWalk::kSlower;
    const auto indexOf = [](const QPointF& step) {
        return StepIndex{static_cast<std::int32_t>(step.x())};
    };
    const auto span = selection.cutsTime() ? stepsOf(selection) : std::nullopt;
    // of several selected steps the walk goes on from their edge
    const auto from = std::find_if(steps.begin(), steps.end(), [&](const QPointF& step) {
        return span && indexOf(step) == (isBack || byTime ? span->first : span->last);
    });
    const bool isOne = span && span->first == span->last;
    if (from == steps.end() || (byTime && !isOne))
        return indexOf(walk == StepWalk::kPrevious ? steps.back() : steps.front());
    if (isBack) return from == steps.begin() ? std::nullopt : std::optional(indexOf(*(from - 1)));
    return from + 1 == steps.end() ? std::nullopt : std::optional(indexOf(*(from + 1)));
}

std::optional<run::ProgramRun> OpenRecording::program() const {
    return isOwn() ? std::nullopt : run::parseProgramJson(summary.run.configJson);
}

QString OpenRecording::label() const {
    if (!isOwn() && !program()) return title();
    const QString file = address().section(u'/', -1, -1, QString::SectionSkipEmpty);
    return afterName(*this, u"%1 · %2"_s.arg(file, plainTitle(*this)));
}

QString OpenRecording::title() const {
    return afterName(*this, plainTitle(*this));
}

}  // namespace shardscope::desktop
