// Runs in which a rank comes late to the one collective of each step.
#pragma once

#include "storage/model/recording.h"
#include "storage/model/step_facts.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace shardscope::test {

inline constexpr std::int64_t kStepNs = 1'000'000, kComputeNs = 600'000;
inline constexpr int kSteps = 20;

/// Who comes late to the one collective of a step, by how much, what it does meanwhile, and whether
/// it uses a processor for that.
struct Lateness {
    std::uint32_t rank = 0;
    std::int64_t ns = 0;
    Phase phase = Phase::kForward;
    bool runs = true;
};

/// Ranks that compute for 600 us, meet in a collective of group 0, and move data for 100 us.
struct MadeRun {
    RecordingSummary summary;
    std::vector<RankEvents> ranks;

    /// `blocked`: the step thread waits for the collective, and not the communication thread alone.
    explicit MadeRun(const std::function<Lateness(int)>& late, bool blocked = true,
                     std::uint32_t worldSize = 2) {
        summary.run.worldSize = static_cast<std::int32_t>(worldSize);
        for (std::uint32_t r = 0; r < worldSize; ++r) {
            RankEvents events;
            events.rank = RankId{r};
            Timestamp at{0};
            for (int s = 0; s < kSteps; ++s) at = addStep(events, s, at, late(s), blocked);
            ranks.push_back(std::move(events));
        }
    }

    Timestamp addStep(RankEvents& events, int s, Timestamp begin, Lateness late, bool blocked) {
        const auto after = [&](std::int64_t ns) { return begin + Duration{ns}; };
        const std::int64_t own = late.rank == events.rank.value ? late.ns : 0;
        const Timestamp wanted = after(kComputeNs + own), last = after(kComputeNs + late.ns);
        const Timestamp end = after(kStepNs + late.ns);
        const Timestamp computed =
            after(late.phase == Phase::kForward ? kComputeNs + own : kComputeNs);
        addPhase(events, Phase::kForward, s, begin, computed);
        if (computed < wanted) addPhase(events, late.phase, s, computed, wanted);
        if (blocked) addPhase(events, Phase::kWaitReduction, s, wanted, last + Duration{100'000});
        CollectiveEvent collective;
        collective.step = StepIndex{s};
        collective.sequence = static_cast<std::uint64_t>(s) + 1;
        collective.start = wanted;
        collective.end = last + Duration{100'000};
        collective.arrivals = {static_cast<std::size_t>(summary.run.worldSize), [&](std::size_t r) {
                                   return r == late.rank ? last : after(kComputeNs);
                               }};
        events.collectives.push_back(collective);
        StepFacts step;
        step.rank = events.rank;
        step.step = StepIndex{s};
        step.start = begin;
        step.end = end;
        step.tokens = 100;
        step.cpuTimeNs = kStepNs - 100'000 + (late.runs ? own : 0);
        summary.steps.push_back(step);
        return end;
    }

    static void addPhase(RankEvents& events, Phase phase, int step, Timestamp begin,
                         Timestamp end) {
        SpanEvent span;
        span.phase = phase;
        span.step = StepIndex{step};
        span.start = begin;
        span.duration = end - begin;
        events.phases.push_back(span);
    }
};

}  // namespace shardscope::test
