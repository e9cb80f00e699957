// Graphs of drawn and of random steps, and paths as text.
#pragma once

#include "profiler/analysis/graph/critical_path.h"
#include "profiler/analysis/graph/step_activities.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/support/random_events.h"
#include "tests/support/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace shardscope::test {

/// The first step of a timeline with all that its ranks recorded.
struct DrawnStep {
    explicit DrawnStep(Timeline drawn) : timeline(std::move(drawn)) { joinCollectives(); }

    /// From the first rank's beginning to the last one's end.
    [[nodiscard]] TimeRange range() const {
        TimeRange all = timeline.summary.steps.at(0).range();
        for (const StepFacts& step : timeline.summary.steps) {
            all.begin = std::min(all.begin, step.start);
            all.end = std::max(all.end, step.end);
        }
        return all;
    }

    [[nodiscard]] std::vector<analysis::RankStep> steps() const {
        std::vector<analysis::RankStep> steps;
        for (const StepFacts& facts : timeline.summary.steps) {
            const RankEvents& events = timeline.ranks.at(facts.rank.value);
            analysis::RankStep step{facts.rank, facts.range(), events.phases, {}, {}};
            for (const CollectiveEvent& event : events.collectives)
                step.collectives.push_back(&event);
            for (const analysis::PathSpan& span : spans)
                if (facts.rank == RankId{0}) step.spans.push_back(span);
            steps.push_back(std::move(step));
        }
        return steps;
    }

    [[nodiscard]] analysis::StepGraph graph() {
        analysis::StepGraphs graphs(timeline.ranks, clocks, names);
        analysis::StepGraph made = graphs.of(range(), steps());
        refused = graphs.refused();
        return made;
    }

    Timeline timeline;
    std::vector<analysis::PathSpan> spans;  ///< of rank 0
    analysis::HostClocks clocks;
    analysis::PathNames names;
    std::int64_t refused = 0;

private:
    /// Arrivals of collectives of one number are those of all ranks that have it.
    void joinCollectives() {
        if (timeline.ranks.size() < 2) return;
        for (RankEvents& events : timeline.ranks)
            for (CollectiveEvent& event : events.collectives) {
                std::vector<Timestamp> times;
                for (const RankEvents& others : timeline.ranks)
                    for (const CollectiveEvent& other : others.collectives)
                        if (other.sequence == event.sequence) times.push_back(other.start);
                event.arrivals = Arrivals(times);
            }
    }
};

/// "0 compute 0-5, 1 moving 5-8": rank, kind and ticks.
inline std::string pathText(const std::vector<analysis::PathPiece>& path) {
    std::string text;
    for (const analysis::PathPiece& piece : path)
        text += fmt::format("{}{} {} {}-{}", text.empty() ? "" : ", ", piece.rank.value,
                            toWord(piece.kind), piece.range.begin.ns / kTick.ns,
                            piece.range.end.ns / kTick.ns);
    return text;
}

inline std::string pathOf(const std::string& drawing) {
    DrawnStep step(drawTimeline(drawing));
    return pathText(analysis::criticalPath(step.graph()));
}

/// One to three ranks with phases, collectives, kernels and calls of which nothing need fit:
/// overlapping, empty, outside of the step, without their peers.
inline DrawnStep randomStep(RandomEvents& random) {
    Timeline timeline;
    const auto ranks = random.between(1, 3);
    for (std::uint32_t r = 0; r < ranks; ++r) {
        RankEvents& events = timeline.ranks.emplace_back();
        events.rank = {r};
        StepFacts step;
        step.rank = {r};
        step.start = {random.between(0, 30)};
        step.end = {step.start.ns + random.between(0, 200)};
        timeline.summary.steps.push_back(step);
        timeline.summary.ranks.emplace_back().rank = {r};
        Timestamp at = step.start;
        for (auto count = random.between(0, 12); count > 0; --count) {
            SpanEvent phase;
            phase.start = {at.ns + random.between(-3, 6)};
            phase.duration = {random.between(0, 30)};
            phase.phase = static_cast<Phase>(random.between(1, 14));
            phase.layer = {static_cast<std::int16_t>(random.between(-2, 2))};
            events.phases.push_back(phase);
            at = phase.end();
        }
        for (std::uint64_t sequence = 1; sequence <= 5; ++sequence) {
            if (random.between(0, 4) == 0) continue;
            CollectiveEvent event;
            event.operation = static_cast<CollectiveOp>(random.between(1, 8));
            event.layer = {static_cast<std::int16_t>(random.between(-2, 2))};
            event.group = static_cast<std::uint32_t>(random.between(0, 1));
            event.sequence = sequence;
            event.start = {random.between(-10, 200)};
            event.issue = {event.start.ns - random.between(-5, 40)};
            event.end = {event.start.ns + random.between(0, 40)};
            events.collectives.push_back(event);
        }
    }
    DrawnStep step(std::move(timeline));
    for (RankEvents& events : step.timeline.ranks)
        for (CollectiveEvent& event : events.collectives)
            if (random.between(0, 2) == 0) event.arrivals = {};
    for (auto& events : step.timeline.ranks)
        std::stable_sort(events.phases.begin(), events.phases.end(),
                         [](const auto& a, const auto& b) { return a.start < b.start; });
    const auto spans = random.between(0, 1) == 0 ? 0 : random.between(0, 20);
    for (std::int64_t i = 0; i < spans; ++i) {
        analysis::PathSpan span;
        span.use = static_cast<analysis::SpanUse>(random.between(0, 5));
        span.range.begin = {random.between(-10, 220)};
        span.range.end = {span.range.begin.ns + random.between(0, 30)};
        span.lane = {0x1000 + static_cast<std::uint32_t>(random.between(0, 2))};
        span.correlation = static_cast<std::uint64_t>(random.between(0, 6));
        step.spans.push_back(span);
    }
    return step;
}

}  // namespace shardscope::test
