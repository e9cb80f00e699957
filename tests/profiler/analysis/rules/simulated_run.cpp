#include "tests/profiler/analysis/rules/simulated_run.h"

#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace shardscope::test {
namespace {

constexpr int kRunSteps = 40, kLayers = 3;
constexpr double kUsualWait = 0.02;  ///< of its work a rank waits for a core
constexpr std::int64_t kTickNs = 10'000'000;
constexpr double kNanoseconds = 1e6;  ///< of a millisecond
constexpr std::int64_t kModelBytes = 100 << 20;

bool evaluates(std::int32_t step) {
    return step % 13 == 12;
}

bool writesCheckpoint(std::int32_t step) {
    return step % 17 == 16;
}

Duration milliseconds(double count) {
    return {static_cast<std::int64_t>(count * kNanoseconds)};
}

}  // namespace

SimulatedRun::SimulatedRun(std::uint64_t seed, Fault fault)
    : m_random(seed), m_fault(fault), m_isGuest(seed % 2 == 1) {
    const auto count = static_cast<std::uint32_t>(2 + m_random() % 3);
    summary.run.worldSize = static_cast<std::int32_t>(count);
    summary.complete = true;
    faulty = {static_cast<std::uint32_t>(m_random() % count)};
    // Not with a step that evaluates or writes a checkpoint.
    do {
        faultyFirst = {static_cast<std::int32_t>(6 + m_random() % 14)};
    } while (evaluates(faultyFirst.value) || writesCheckpoint(faultyFirst.value));
    faultyLast = {faultyFirst.value + static_cast<std::int32_t>(9 + m_random() % 8)};
    m_machine = between(0.5, 3);
    m_drift = between(0, 0.1);
    m_factor = fault == Fault::kSlowLink                                    ? between(2.5, 5)
               : fault == Fault::kThrottled || fault == Fault::kBusyStretch ? between(1.7, 2.5)
                                                                            : between(1.25, 1.6);
    m_state.resize(count);
    for (std::uint32_t r = 0; r < count; ++r) {
        RankEvents events;
        events.rank = {r};
        ranks.push_back(std::move(events));
        RankFacts facts;
        facts.rank = {r};
        summary.ranks.push_back(facts);
    }
    for (std::int32_t i = 0; i < kRunSteps; ++i) step(i);
    addMetrics();
    addMemory();
}

double SimulatedRun::noise(double deviation) {
    return std::exp(deviation * std::normal_distribution<double>()(m_random));
}

bool SimulatedRun::chance(double probability) {
    return std::uniform_real_distribution<double>()(m_random) < probability;
}

double SimulatedRun::between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(m_random);
}

bool SimulatedRun::isFaulty(StepIndex index) const {
    return faultyFirst <= index && index <= faultyLast;
}

/// The load resembles that of the step before; some steps, and some ranks in them, have bad luck.
void SimulatedRun::prepareStep(std::int32_t index) {
    constexpr double kAlike = 0.6, kDeviation = 0.03;
    m_step = {index};
    const double wave = m_drift * std::sin(index * 2 * std::numbers::pi / kRunSteps);
    m_load = 1 + kAlike * (m_load - 1) + kDeviation * std::normal_distribution<double>()(m_random);
    double load = std::max(0.7, m_load) * (1 + wave);
    if (chance(0.04)) load *= between(1.1, 1.6);
    if (index < 2) load *= between(1.2, 4);
    for (Rank& rank : m_state) {
        rank.speed = load * noise(0.02);
        if (chance(0.03)) rank.speed *= between(1.05, 1.3);
    }
    m_stop.reset();
    if (m_fault == Fault::kStoppedRank && index > 1 && chance(0.5))
        m_stop = {faulty.value, milliseconds(m_machine * between(25, 80)).ns};
    if ((m_fault == Fault::kSlowStep || m_fault == Fault::kBusyStep) &&
        StepIndex{index} == faultyFirst)
        m_stop = {faulty.value, milliseconds(m_machine * between(400, 800)).ns};
}

void SimulatedRun::addPhase(std::size_t rank, Phase phase, int layer, Timestamp begin,
                            Timestamp end) {
    SpanEvent span;
    span.phase = phase;
    span.layer = {static_cast<std::int16_t>(layer)};
    span.step = m_step;
    span.start = begin;
    span.duration = end - begin;
    ranks[rank].phases.push_back(span);
}

/// A system whose hypervisor runs others believes that it runs itself.
void SimulatedRun::loseToOthers(Rank& rank, Duration lost) {
    if (m_isGuest) {
        m_stolen += lost;
        rank.processor += lost;
    } else {
        rank.waited += lost;
    }
}

void SimulatedRun::work(Phase phase, int layer, double length) {
    for (std::size_t r = 0; r < m_state.size(); ++r) {
        Rank& rank = m_state[r];
        double own = length * m_machine * rank.speed * noise(0.03);
        if (m_fault == Fault::kSlowRank && r == faulty.value && isWork(phase)) own *= m_factor;
        rank.processor += milliseconds(own);
        rank.waited += milliseconds(own * kUsualWait);
        if (m_fault == Fault::kBusyStretch && isFaulty(m_step))
            loseToOthers(rank, milliseconds(own * (m_factor - 1)));
        if ((m_fault == Fault::kThrottled || m_fault == Fault::kBusyStretch) && isFaulty(m_step))
            own *= m_factor;
        Duration taken = milliseconds(own);
        const bool last = m_fault == Fault::kBusyStep && phase == Phase::kOptimizer;
        if (m_stop && m_stop->first == r && (last || chance(0.3))) {
            taken += Duration{m_stop->second};
            if (m_fault == Fault::kBusyStep) loseToOthers(rank, Duration{m_stop->second});
            m_stop.reset();
        }
        addPhase(r, phase, layer, rank.now, rank.now + taken);
        rank.now = rank.now + taken;
    }
}

void SimulatedRun::collective(CollectiveOp operation, Cause cause, int layer, double length) {
    double moving = length * m_machine * noise(0.12) * (chance(0.05) ? between(1.5, 4) : 1);
    if (m_fault == Fault::kSlowLink && isFaulty(m_step)) moving *= m_factor;
    std::vector<Timestamp> arrivals;
    for (const Rank& rank : m_state) arrivals.push_back(std::max(rank.now, rank.linkFree));
    const Timestamp end =
        *std::max_element(arrivals.begin(), arrivals.end()) + milliseconds(moving);
    for (std::size_t r = 0; r < m_state.size(); ++r) {
        CollectiveEvent event;
        event.operation = operation;
        event.cause = cause;
        event.layer = {static_cast<std::int16_t>(layer)};
        event.step = m_step;
        event.sequence = m_ends.size();
        event.size = {std::int64_t{1} << 20};
        event.issue = m_state[r].now;
        // A thread of its own begins it a little later.
        event.start = arrivals[r] + Duration{1'000};
        event.end = end + Duration{1'000};
        event.arrivals = {arrivals.size(),
                          [&](std::size_t place) { return arrivals[place] + Duration{1'000}; }};
        ranks[r].collectives.push_back(std::move(event));
        m_state[r].linkFree = end + Duration{1'000};
    }
    m_ends.push_back(end + Duration{1'000});
}

void SimulatedRun::waitFor(std::uint64_t sequence, Phase phase) {
    for (std::size_t r = 0; r < m_state.size(); ++r) {
        Rank& rank = m_state[r];
        if (m_ends[sequence] <= rank.now) continue;
        addPhase(r, phase, -1, rank.now, m_ends[sequence]);
        rank.now = m_ends[sequence];
    }
}

void SimulatedRun::step(std::int32_t index) {
    constexpr double kForward = 8, kBackward = 12, kMoving = 6;
    constexpr int kLateLayer = 1;
    const auto gather = [this](Cause cause, int layer) {
        collective(CollectiveOp::kAllGather, cause, layer, kMoving);
    };
    prepareStep(index);
    std::vector<Timestamp> begun;
    for (Rank& rank : m_state) {
        begun.push_back(rank.now);
        rank.processor = rank.waited = {};
    }
    work(Phase::kData, -1, 1);
    gather(Cause::kDemand, 0);
    for (int layer = 0; layer < kLayers; ++layer) {
        const bool late = m_fault == Fault::kLateCollective && layer == kLateLayer;
        if (late) gather(Cause::kDemand, layer);
        waitFor(m_ends.size() - 1, Phase::kWaitGather);
        const bool nextIsLate = m_fault == Fault::kLateCollective && layer + 1 == kLateLayer;
        if (layer + 1 < kLayers && !nextIsLate) gather(Cause::kPrefetch, layer + 1);
        work(Phase::kForward, layer, kForward);
    }
    work(Phase::kHead, -1, 5);
    for (int layer = kLayers - 1; layer >= 0; --layer) {
        work(Phase::kBackward, layer, kBackward);
        collective(CollectiveOp::kReduceScatter, Cause::kGradient, layer, kMoving);
    }
    waitFor(m_ends.size() - 1, Phase::kWaitReduction);
    work(Phase::kOptimizer, -1, 4);
    if (evaluates(index)) work(Phase::kEvaluation, -1, 200);
    if (writesCheckpoint(index)) work(Phase::kCheckpoint, -1, 300);
    finishStep(index, begun);
}

/// Whole ticks are told.
void SimulatedRun::finishStep(std::int32_t index, const std::vector<Timestamp>& begun) {
    const Duration told{m_stolen.ns / kTickNs * kTickNs};
    for (std::size_t r = 0; r < m_state.size(); ++r) {
        StepFacts facts;
        facts.rank = {static_cast<std::uint32_t>(r)};
        facts.step = {index};
        facts.start = begun[r];
        facts.end = m_state[r].now;
        facts.tokens = 1000;
        facts.cpuTimeNs = m_state[r].processor.ns;
        facts.coreWaitNs = m_state[r].waited.ns;
        facts.stolenNs = (told - m_stolenTold).ns;
        summary.steps.push_back(facts);
    }
    m_stolenTold = told;
}

void SimulatedRun::addMetrics() {
    const double level = between(1, 4), ruggedness = between(0.005, 0.03);
    for (std::int32_t i = 0; i < kRunSteps; ++i) {
        const Timestamp time = summary.steps[static_cast<std::size_t>(i) * m_state.size()].end;
        double loss = (level + 2 * std::exp(-i / 15.0)) * noise(ruggedness);
        if (m_fault == Fault::kLossSpike && i == faultyFirst.value + 6) loss *= between(2, 4);
        if (m_fault == Fault::kNotANumber && i >= faultyFirst.value)
            loss = std::numeric_limits<double>::quiet_NaN();
        summary.metrics.push_back({"loss", {i}, time, loss});
        summary.metrics.push_back({"gradient_norm", {i}, time, noise(0.2)});
    }
}

/// What is left at the ends of steps: a cache that fills now and then, buffers that come and go.
void SimulatedRun::addMemory() {
    const double leak = m_fault == Fault::kLeak ? between(0.001, 0.005) : 0;
    for (const RankEvents& events : ranks) {
        std::vector<analysis::StepMemory> steps;
        double left = static_cast<double>(kModelBytes);
        for (std::int32_t i = 0; i < kRunSteps; ++i) {
            left += leak * between(0.5, 1.5) * static_cast<double>(kModelBytes);
            if (chance(0.1)) left += 0.002 * static_cast<double>(kModelBytes);
            analysis::StepMemory memory;
            memory.step = {i};
            const double buffers = chance(0.3) ? between(0, 1e4) : 0;
            memory.left = {static_cast<std::int64_t>(left + (leak > 0 ? 0 : buffers))};
            memory.peak = {2 * memory.left.count};
            steps.push_back(memory);
        }
        if (const auto growth = analysis::growthOf(steps))
            growths.push_back({events.rank, *growth});
    }
}

}  // namespace shardscope::test
