#include "tests/support/timeline.h"

#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <sstream>
#include <stdexcept>

namespace shardscope::test {
namespace {

struct Run {
    char letter;
    TimeRange range;
};

/// Runs of equal characters, '.' left out.
std::vector<Run> runsOf(const std::string& cells) {
    std::vector<Run> runs;
    for (std::size_t at = 0; at < cells.size();) {
        std::size_t end = at + 1;
        while (end < cells.size() && cells[end] == cells[at]) ++end;
        const auto tick = [](std::size_t cell) {
            return Timestamp{static_cast<std::int64_t>(cell) * kTick.ns};
        };
        if (cells[at] != '.') runs.push_back({cells[at], {tick(at), tick(end)}});
        at = end;
    }
    return runs;
}

Phase phaseOf(char letter) {
    switch (letter) {
        case 'f':
            return Phase::kForward;
        case 'h':
            return Phase::kHead;
        case 'b':
            return Phase::kBackward;
        case 'o':
            return Phase::kOptimizer;
        case 'c':
            return Phase::kClip;
        case 'd':
            return Phase::kData;
        case 'g':
            return Phase::kWaitGather;
        case 'r':
            return Phase::kWaitReduction;
        case 'w':
            return Phase::kWaitOther;
        case 'e':
            return Phase::kEvaluation;
        case 'x':
            return Phase::kRelease;
        default:
            throw std::invalid_argument(std::string("no phase is drawn as ") + letter);
    }
}

void drawPhases(const std::string& cells, RankEvents& events) {
    for (const Run& run : runsOf(cells)) {
        SpanEvent phase;
        phase.start = run.range.begin;
        phase.duration = run.range.duration();
        phase.phase = phaseOf(run.letter);
        phase.step = {0};
        events.phases.push_back(phase);
    }
}

CollectiveEvent collectiveOf(char letter) {
    CollectiveEvent event;
    event.step = {0};
    event.operation = letter == 'a'   ? CollectiveOp::kAllGather
                      : letter == 'r' ? CollectiveOp::kReduceScatter
                                      : CollectiveOp::kAllReduce;
    event.cause = letter == 'a'   ? Cause::kPrefetch
                  : letter == 'r' ? Cause::kGradient
                                  : Cause::kLoss;
    return event;
}

void drawCollectives(const std::string& cells, RankEvents& events) {
    Timestamp waitingSince;
    bool waits = false;
    for (const Run& run : runsOf(cells)) {
        if (run.letter == '-') {
            waitingSince = run.range.begin;
            waits = true;
            continue;
        }
        CollectiveEvent event = collectiveOf(run.letter);
        event.start = waits ? waitingSince : run.range.begin;
        event.issue = event.start;
        event.end = run.range.end;
        // The other rank is the late one.
        const bool first = events.rank.value == 0;
        event.arrivals = {first ? event.start : run.range.begin,
                          first ? run.range.begin : event.start};
        event.sequence = events.collectives.size() + 1;
        events.collectives.push_back(event);
        waits = false;
    }
}

void drawSteps(const std::string& cells, RankId rank, RecordingSummary& summary) {
    std::int32_t index = 0;
    for (std::size_t at = 0; at < cells.size();) {
        if (cells[at] == '.') {
            ++at;
            continue;
        }
        std::size_t end = at + 1;
        while (end < cells.size() && cells[end] == 's') ++end;
        StepFacts step;
        step.rank = rank;
        step.step = {index++};
        step.start = {static_cast<std::int64_t>(at) * kTick.ns};
        step.end = {static_cast<std::int64_t>(end) * kTick.ns};
        step.tokens = 1000;
        summary.steps.push_back(step);
        at = end;
    }
}

/// A phase or collective belongs to the step in which it starts.
void assignSteps(Timeline& timeline) {
    for (RankEvents& events : timeline.ranks) {
        const auto stepAt = [&](Timestamp time) {
            for (const StepFacts& step : timeline.summary.steps)
                if (step.rank == events.rank && step.range().contains(time)) return step.step;
            return kNoStep;
        };
        for (SpanEvent& phase : events.phases) phase.step = stepAt(phase.start);
        for (CollectiveEvent& event : events.collectives) event.step = stepAt(event.start);
    }
}

}  // namespace

Timeline drawTimeline(const std::string& drawing) {
    Timeline timeline;
    std::istringstream lines(drawing);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t open = line.find('|');
        if (open == std::string::npos) continue;
        std::istringstream words(line.substr(0, open));
        std::string rankWord;
        std::string what;
        std::size_t rank = 0;
        words >> rankWord >> rank >> what;
        const std::string cells = line.substr(open + 1, line.find('|', open + 1) - open - 1);
        while (timeline.ranks.size() <= rank) {
            const RankId id{static_cast<std::uint32_t>(timeline.ranks.size())};
            timeline.ranks.emplace_back().rank = id;
            timeline.summary.ranks.emplace_back().rank = id;
        }
        RankEvents& events = timeline.ranks[rank];
        if (what == "compute")
            drawPhases(cells, events);
        else if (what == "comm")
            drawCollectives(cells, events);
        else if (what == "kernels")
            for (const Run& run : runsOf(cells)) events.computeKernels.push_back(run.range);
        else if (what == "nccl")
            for (const Run& run : runsOf(cells)) events.communicationKernels.push_back(run.range);
        else if (what == "step")
            drawSteps(cells, events.rank, timeline.summary);
        else
            throw std::invalid_argument("no such line: " + what);
    }
    timeline.summary.run.worldSize = static_cast<std::int32_t>(timeline.ranks.size());
    timeline.summary.complete = true;
    assignSteps(timeline);
    return timeline;
}

}  // namespace shardscope::test
