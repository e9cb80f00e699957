#include "profiler/questions/selection.h"

#include "profiler/analysis/part.h"
#include "storage/model/process_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace shardscope::questions {
namespace {

bool within(TimeRange inner, TimeRange outer) {
    return outer.begin <= inner.begin && inner.end <= outer.end;
}

/// Something without length counts where it lies.
bool touches(TimeRange range, TimeRange time) {
    return range.empty() ? time.contains(range.begin) : range.intersects(time);
}

void cut(std::vector<TimeRange>& kernels, TimeRange time) {
    for (TimeRange& kernel : kernels) kernel = kernel.intersection(time);
    std::erase_if(kernels, [](const TimeRange& kernel) { return kernel.empty(); });
}

std::string stepsText(const RecordingSummary& summary) {
    if (summary.steps.empty()) return "it has no steps";
    const auto [first, last] =
        std::minmax_element(summary.steps.begin(), summary.steps.end(),
                            [](const auto& a, const auto& b) { return a.step < b.step; });
    return fmt::format("it has steps {} to {}", first->step.value, last->step.value);
}

/// What was left out, for who judges the rest.
void noteParts(const Selection& selection, const RecordingSummary& whole,
               RecordingSummary& selected) {
    const auto note = [&](const char* code, const char* message, std::size_t count) {
        selected.diagnostics.push_back({Severity::kNote,
                                        code,
                                        message,
                                        "",
                                        std::nullopt,
                                        {},
                                        static_cast<std::int64_t>(count)});
    };
    if (selected.ranks.size() < whole.ranks.size())
        note(analysis::kSelectedRanks, "some ranks are selected", selected.ranks.size());
    if (!selection.cutsTime()) return;
    std::set<StepIndex> before;
    for (const StepFacts& step : whole.steps) before.insert(step.step);
    for (const StepFacts& step : selected.steps)
        before.erase(before.lower_bound(step.step), before.end());
    note(analysis::kSelectedPart, "a part of the time is selected", before.size());
}

Result<void> checkRanks(const Selection& selection, const RecordingSummary& summary) {
    for (const RankId rank : selection.ranks) {
        const bool known = std::any_of(summary.ranks.begin(), summary.ranks.end(),
                                       [&](const RankFacts& each) { return each.rank == rank; });
        if (!known)
            return failure(ErrorCode::kUsage,
                           fmt::format("the recording has no rank {}: it has {} of them; name some "
                                       "of these with --ranks, or none for all",
                                       rank.value, summary.ranks.size()));
    }
    return {};
}

}  // namespace

bool Selection::takes(RankId rank) const {
    return ranks.empty() || std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

bool Selection::takesStep(StepIndex step) const {
    return steps.empty() || std::any_of(steps.begin(), steps.end(), [&](const auto& span) {
               return span.first <= step && step <= span.second;
           });
}

Result<RecordingSummary> Selection::of(const RecordingSummary& summary) const {
    if (auto known = checkRanks(*this, summary); !known) return failure(known);
    RecordingSummary selected = summary;
    const auto elsewhere = [&](const auto& row) { return !takes(row.rank); };
    std::erase_if(selected.ranks, elsewhere);
    std::erase_if(selected.devices, elsewhere);
    std::erase_if(selected.lanes, elsewhere);
    std::erase_if(selected.memoryTheory, elsewhere);
    std::erase_if(selected.detail, elsewhere);
    std::erase_if(selected.facts, [&](const FactRow& fact) {
        return fact.rank >= 0 && !takes({static_cast<std::uint32_t>(fact.rank)});
    });
    std::erase_if(selected.processes, [&](const ProcessFacts& process) {
        return process.rank >= 0 && !takes({static_cast<std::uint32_t>(process.rank)});
    });
    selected.steps.eraseIf([&](const StepFacts& step) {
        return !takes(step.rank) || !takesStep(step.step) ||
               (range && !within(step.range(), *range));
    });
    selected.metrics.eraseIf([&](const MetricPoint& point) {
        return !takesStep(point.step) || (range && !range->contains(point.time));
    });
    if (!steps.empty() && selected.steps.empty())
        return failure(ErrorCode::kUsage,
                       fmt::format("none of the requested steps is there{}: {}",
                                   range ? " within the range" : "", stepsText(summary)));
    if (range && !range->intersects({summary.bounds.begin, {summary.bounds.end.ns + 1}}))
        return failure(ErrorCode::kUsage,
                       fmt::format("nothing lies in the range: the recording goes from {:.3f} to "
                                   "{:.3f} s",
                                   summary.bounds.begin.seconds(), summary.bounds.end.seconds()));
    noteParts(*this, summary, selected);
    return selected;
}

TimeRange Selection::timeOf(const RecordingSummary& selected, RankId rank) const {
    const TimeRange whole{selected.bounds.begin, {selected.bounds.end.ns + 1}};
    if (!cutsTime()) return whole;
    std::optional<TimeRange> time;
    for (const StepFacts& step : selected.steps) {
        if (step.rank != rank) continue;
        if (!time) time = step.range();
        time->begin = std::min(time->begin, step.start);
        time->end = std::max(time->end, step.end);
    }
    // A rank that has none of them, as one that died before, has no time in the selection.
    if (!steps.empty()) return time.value_or(TimeRange{whole.begin, whole.begin});
    return range ? range->intersection(whole) : whole;
}

RankEvents Selection::of(const RecordingSummary& selected, RankEvents events) const {
    if (!cutsTime()) return events;
    const TimeRange time = timeOf(selected, events.rank);
    std::erase_if(events.phases,
                  [&](const SpanEvent& phase) { return !touches(phase.range(), time); });
    for (SpanEvent& phase : events.phases) {
        const TimeRange kept = phase.range().intersection(time);
        phase.start = kept.begin;
        phase.duration = kept.duration();
    }
    std::erase_if(events.collectives, [&](const CollectiveEvent& collective) {
        return !touches({collective.start, collective.end}, time);
    });
    for (CollectiveEvent& collective : events.collectives) {
        const TimeRange kept = TimeRange{collective.start, collective.end}.intersection(time);
        collective.start = kept.begin;
        collective.end = kept.end;
    }
    cut(events.computeKernels, time);
    cut(events.communicationKernels, time);
    return events;
}

RankEvents Selection::wholeOf(const RecordingSummary& selected, RankEvents events) const {
    if (!cutsTime()) return events;
    const TimeRange time = timeOf(selected, events.rank);
    std::erase_if(events.collectives, [&](const CollectiveEvent& collective) {
        const bool own = !steps.empty() && collective.step != kNoStep
                             ? takesStep(collective.step)
                             : within({collective.start, collective.end}, time);
        return !own;
    });
    return events;
}

}  // namespace shardscope::questions
