#include "app/cli/bench/run_reading.h"

#include "profiler/analysis/part.h"
#include "profiler/questions/selection.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

constexpr RankId kRank{0};

Result<theory::MemoryByCategory> heldAt(storage::RecordingReader& reader, Timestamp time) {
    const auto alive = reader.liveMemory(kRank, time);
    if (!alive) return failure(alive);
    theory::MemoryByCategory held{};
    for (const MemoryEvent& block : *alive)
        held[static_cast<std::size_t>(block.category)].count += block.size.count;
    return held;
}

const StepFacts* stepOf(const RecordingSummary& summary, bool last) {
    const StepFacts* found = nullptr;
    for (const StepFacts& step : summary.steps) {
        if (step.rank != kRank) continue;
        if (found == nullptr || last) found = &step;
    }
    return found;
}

/// Where phases of `uses` begin and end within a step; empty: there are none.
template <class Wanted>
TimeRange rangeOf(const RankEvents& events, const TimeRange& step, Wanted wanted) {
    TimeRange all;
    for (const SpanEvent& phase : events.phases) {
        if (!wanted(phase.phase) || !step.contains(phase.start)) continue;
        if (all.empty()) all = phase.range();
        all.end = std::max(all.end, phase.range().end);
    }
    return all;
}

Result<Bytes> peakWithin(storage::RecordingReader& reader, const TimeRange& range) {
    const auto before = heldAt(reader, range.begin);
    if (!before) return failure(before);
    const auto events = reader.memoryEvents(kRank, range);
    if (!events) return failure(events);
    std::int64_t held = theory::total(*before).count, most = held;
    for (const MemoryEvent& event : *events) {
        if (event.time <= range.begin) continue;
        held += event.action == MemoryAction::kAllocate ? event.size.count : -event.size.count;
        most = std::max(most, held);
    }
    return Bytes{most};
}

}  // namespace

Result<RunReading> readRun(const std::string& recording, std::int32_t firstStep) {
    auto reader = storage::openRecording(recording);
    if (!reader) return failure(reader);
    auto whole = (*reader)->summary();
    if (!whole) return failure(whole);
    questions::Selection selection;
    if (firstStep > 0)
        selection.steps = {
            {StepIndex{firstStep}, StepIndex{std::numeric_limits<std::int32_t>::max()}}};
    auto selected = selection.of(*whole);
    if (!selected) return failure(selected, recording);
    analysis::keepAllSteps(*selected);
    RunReading reading;
    for (const RankFacts& rank : selected->ranks) {
        auto events = (*reader)->rankEvents(rank.rank, selection.timeOf(*selected, rank.rank));
        if (!events) return failure(events);
        reading.ranks.push_back(selection.of(*selected, std::move(*events)));
    }
    reading.whole = std::move(*whole);
    reading.summary = std::move(*selected);
    reading.report = analysis::analyse(reading.summary, reading.ranks);
    reading.figures = analysis::runFigures(reading.summary, reading.ranks, reading.report);
    return reading;
}

void RepeatedRun::add(const RunReading& reading) {
    m_figures.push_back(reading.figures);
}

std::vector<std::vector<double>> RepeatedRun::samples(std::string_view key) const {
    std::vector<std::vector<double>> runs;
    for (const auto& figures : m_figures)
        if (const analysis::RunFigure* figure = analysis::findFigure(figures, key))
            runs.push_back(figure->samples);
    return runs;
}

std::optional<double> RepeatedRun::largest(std::string_view key) const {
    std::optional<double> most;
    for (const auto& figures : m_figures) {
        const analysis::RunFigure* figure = analysis::findFigure(figures, key);
        if (figure == nullptr) continue;
        for (const double sample : figure->samples) most = std::max(most.value_or(sample), sample);
        if (figure->whole) most = std::max(most.value_or(*figure->whole), *figure->whole);
    }
    return most;
}

using questions::Shown;
using questions::Unit;

std::vector<questions::Column> stepColumns() {
    return {{"step_ns", "step", Unit::kNanoseconds,
             "Mean over repetitions, each of which counts by the mean of its measured steps: from "
             "the first rank's beginning to the last one's end."},
            {"step_deviation_ns", "deviation", Unit::kNanoseconds,
             "Standard deviation between repetitions; of one alone between its steps."},
            {"step_half_ns", "+-", Unit::kNanoseconds,
             "Half of the 95 % interval of the mean, t s / sqrt(n) (Student); of one repetition it "
             "says nothing of how runs differ."},
            {"step_low_ns", "from", Unit::kNanoseconds, "Interval's lower end.", Shown::kToScripts},
            {"step_high_ns", "to", Unit::kNanoseconds, "Interval's upper end.", Shown::kToScripts}};
}

std::vector<Cell> stepCells(const std::optional<analysis::MeanInterval>& step) {
    if (!step) return std::vector<Cell>(5);
    return {step->mean, cellOf(step->deviation),
            step->high ? Cell(*step->high - step->mean) : Cell(), cellOf(step->low),
            cellOf(step->high)};
}

Result<MomentsHeld> momentsOf(storage::RecordingReader& reader, const RecordingSummary& summary) {
    const StepFacts* first = stepOf(summary, false);
    const StepFacts* last = stepOf(summary, true);
    if (first == nullptr) return failure(ErrorCode::kFailure, "it has no steps");
    const auto events = reader.rankEvents(kRank, last->range());
    if (!events) return failure(events);
    const TimeRange update = rangeOf(*events, last->range(), [](Phase phase) {
        return phase == Phase::kClip || phase == Phase::kOptimizer;
    });
    const TimeRange forward =
        rangeOf(*events, last->range(), [](Phase phase) { return phase == Phase::kForward; });
    if (update.empty() || forward.empty())
        return failure(ErrorCode::kFailure, "its last step has no phases");
    if (!events->hasMemoryEvents)
        return failure(ErrorCode::kFailure, "no memory events were recorded");
    MomentsHeld held;
    const auto set = [&](theory::MemoryByCategory& moment, Timestamp time) -> Result<void> {
        auto at = heldAt(reader, time);
        if (!at) return failure(at);
        moment = *at;
        return {};
    };
    if (auto done = set(held.initialised, first->start); !done) return failure(done);
    if (auto done = set(held.beforeOptimizer, update.begin); !done) return failure(done);
    if (auto done = set(held.afterOptimizer, forward.begin); !done) return failure(done);
    const auto peak = peakWithin(reader, {last->start, forward.end});
    if (!peak) return failure(peak);
    held.forwardPeak = *peak;
    return held;
}

}  // namespace shardscope::cli
