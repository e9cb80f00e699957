#include "app/desktop/pages/timeline/details/communication_headline.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/recording_texts.h"
#include "profiler/analysis/report/lacks.h"
#include "storage/model/detail.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

QString whereOf(const OpenRecording& recording, const Selection& selection) {
    // in a run with steps only these count, not what is around them
    if (!selection.cutsTime())
        return recording.summary.steps.empty() ? u"Whole run"_s : u"All steps"_s;
    // a range may begin and end within steps
    const auto& steps = selection.steps;
    if (!steps) return u"Selected range"_s;
    if (steps->first == steps->last) return u"Step %1"_s.arg(steps->first.value);
    return u"Steps %1–%2"_s.arg(steps->first.value).arg(steps->last.value);
}

QString collectivesText(const OpenRecording& recording, const QString& where,
                        const analysis::CommunicationSum& sum) {
    const Duration all = sum.moving + sum.waiting;
    // each rank counts its own part of a collective
    const QString of = recording.summary.ranks.size() > 1 ? u" of all ranks together"_s : QString();
    const QString taken = sum.collectives == 1
                              ? u"%1: 1 collective takes %2%3"_s.arg(where, formatDuration(all), of)
                              : u"%1: %2 collectives take %3%4"_s.arg(
                                    where, formatCount(sum.collectives), formatDuration(all), of);
    if (!recording.report.waitingKnown) return taken + u'.';
    const double share =
        all.ns > 0 ? static_cast<double>(sum.waiting.ns) / static_cast<double>(all.ns) : 0;
    return taken + u", of which %1 (%2) is waiting for a peer."_s.arg(formatDuration(sum.waiting),
                                                                      formatPercent(share));
}

QString waitingText(const OpenRecording& recording, const analysis::CommunicationSum& sum) {
    if (!recording.report.waitingKnown)
        return u"The other ranks are not recorded: how much of it is waiting is unknown."_s;
    if (sum.longestWait.ns == 0) return u"No rank waits for a peer in this range."_s;
    const QString hidden =
        u" Compute goes on meanwhile where it can: what steps wait for is on "
        "Overview."_s;
    const QString validation =
        sum.waitingInValidation.ns > 0
            ? u" Of the waiting %1 is in validation passes, which Overview and report leave out."_s
                  .arg(formatDuration(sum.waitingInValidation))
            : QString();
    return u"Longest single wait: %1, on rank %2.%3%4"_s.arg(
        formatDuration(sum.longestWait), QString::number(sum.waitingRank.value),
        recording.isOwn() ? hidden : QString(), validation);
}

/// Of the selected steps, those that hold no collectives whatever there was.
bool leavesCollectivesOut(const OpenRecording& recording, const Selection& selection) {
    const StepDetail detail(recording.summary.detail);
    const auto steps = recording.stepsOf(selection);
    if (detail.empty() || !steps) return false;
    const auto& all = recording.summary.steps;
    return std::any_of(all.begin(), all.end(), [&](const StepFacts& step) {
        return steps->contains(step.step) && selection.includes(step.rank) &&
               detail.of(step.rank, step.step) < CaptureLevel::kLight;
    });
}

/// Why there is no collective, where it is not that there was none.
QString reasonText(const OpenRecording& recording, const Selection& selection) {
    if (recording.summary.run.worldSize == 1 && !recording.isTrace()) return {};
    // Of a program they are recorded at every level.
    if (!recording.program() && leavesCollectivesOut(recording, selection))
        return u"Collectives of some of these steps were not kept: they were recorded at less than "
               "capture level light."_s;
    if (recording.summary.events.collectives > 0) return {};
    if (wasSalvaged(recording)) return u"They were lost with the damaged part of the file."_s;
    if (recording.isImporting()) return u"They come at the end of the import."_s;
    if (recording.program())
        return u"None: %1."_s.arg(lackText(recording, analysis::Lack::kCollectives));
    return recording.isTrace()
               ? u"This kind of trace does not say which collectives its events belong to."_s
               : u"The capture level of this run holds none: record with light or full."_s;
}

}  // namespace

Result<CommunicationFacts> loadCommunication(storage::RecordingReader& reader,
                                             const OpenRecording& recording,
                                             const Selection& selection,
                                             const storage::Generation& generation) {
    CommunicationFacts facts;
    const TimeRange range = recording.timeOf(selection);
    analysis::CommunicationTally tally(range);
    if (recording.summary.events.collectives > 0) {
        for (const RankFacts& rank : recording.summary.ranks) {
            if (!selection.includes(rank.rank)) continue;
            if (generation.superseded())
                return failure(ErrorCode::kCancelled, "superseded by a newer request");
            auto events = reader.rankEvents(rank.rank, range);
            if (!events) return failure(events);
            // the time of steps over all ranks touches the neighbours of some
            if (const auto& steps = selection.steps)
                std::erase_if(events->collectives, [&](const CollectiveEvent& each) {
                    return each.step != kNoStep && !steps->contains(each.step);
                });
            tally.add(*events);
        }
    }
    facts.sum = tally.sum();
    if (facts.sum.collectives > 0) return facts;
    for (const LaneFacts& lane : recording.summary.lanes) {
        const bool wanted = selection.includes(lane.rank) && isStreamLane(lane.lane) &&
                            lane.role == LaneRole::kCommunication;
        if (!wanted) continue;
        if (generation.superseded())
            return failure(ErrorCode::kCancelled, "superseded by a newer request");
        const auto spans = reader.spans(lane.rank, lane.lane, range);
        if (!spans) return failure(spans);
        for (const SpanEvent& span : *spans) {
            if (!span.range().intersects(range)) continue;
            ++facts.kernels;
            facts.kernelTime += span.range().intersection(range).duration();
        }
    }
    return facts;
}

RangeTexts rangeTexts(const OpenRecording& recording, const Selection& selection,
                      const CommunicationFacts& facts) {
    const QString where = whereOf(recording, selection);
    if (facts.sum.collectives > 0)
        return {collectivesText(recording, where, facts.sum), waitingText(recording, facts.sum)};
    const QString length = formatDuration(recording.timeOf(selection).duration());
    const QString reason = reasonText(recording, selection);
    if (facts.kernels > 0)
        return {u"%1: %2 communication kernel%3 take%4 %5 of %6."_s.arg(
                    where, formatCount(facts.kernels), facts.kernels == 1 ? u""_s : u"s"_s,
                    facts.kernels == 1 ? u"s"_s : u""_s, formatDuration(facts.kernelTime), length),
                u"How much of it is waiting for a peer is unknown. "_s + reason};
    // a trace of one process is not about communication
    if (recording.isTrace() && !recording.isImporting() && recording.summary.run.worldSize <= 1 &&
        recording.summary.events.collectives == 0)
        return {selection.cutsTime()
                    ? u"%1: %2."_s.arg(where, length)
                    : u"%1: %2, %3."_s.arg(
                          where, length,
                          formatCounted(static_cast<std::int64_t>(recording.summary.events.total()),
                                        "event")),
                u"No collective: "_s + reason.left(1).toLower() + reason.mid(1)};
    if (!reason.isEmpty())
        return {(recording.isImporting() ? u"%1: %2, collectives not read yet."_s
                                         : u"%1: %2, collectives not recorded."_s)
                    .arg(where, length),
                reason};
    if (analysis::hasNoRank(recording.summary.run, recording.summary.processes))
        return {u"%1: %2, no process was a rank."_s.arg(where, length), {}};
    if (recording.summary.run.worldSize == 1)
        return {u"%1: %2 on one rank."_s.arg(where, length), {}};
    return {u"%1: no collective in %2."_s.arg(where, length), {}};
}

}  // namespace shardscope::desktop
