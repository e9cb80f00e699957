#include "profiler/analysis/device/efficiency.h"

#include "profiler/analysis/findings.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

namespace shardscope::analysis {
namespace {

/// Blocks whose forward runs again: every n-th, from the first on.
std::int64_t recomputedBlocks(const run::RunConfig& config) {
    if (config.recomputeEvery <= 0) return 0;
    return (config.model.layers + config.recomputeEvery - 1) / config.recomputeEvery;
}

struct BadputPhase {
    Phase phase;
    const char* key;
    const char* what;
};
constexpr std::array kBadputPhases{
    BadputPhase{Phase::kCalibration, "calibration", "Measuring the matrix-multiply peak."},
    BadputPhase{Phase::kEvaluation, "evaluation", "Validation passes."},
    BadputPhase{Phase::kCheckpoint, "checkpoint", "Writing checkpoints."},
    BadputPhase{Phase::kSample, "sample", "Text written by the model."},
    BadputPhase{Phase::kData, "data", "Building batches."},
};

TimeRange wallOf(const RecordingSummary& summary) {
    const Timestamp end = std::max(summary.run.ended, summary.bounds.end);
    return {std::min(Timestamp{0}, summary.bounds.begin), end};
}

/// Takes what `set` covers out of what is left.
Duration take(const Intervals& set, Intervals& left) {
    const Duration before = total(left);
    left = difference(left, set);
    return before - total(left);
}

/// One rank's wall time, item by item; all of it goes somewhere.
class RankGoodput {
public:
    RankGoodput(const RecordingSummary& summary, const RankEvents& events)
        : m_left{wallOf(summary)} {
        for (const StepFacts& step : summary.steps)
            if (step.rank == events.rank) m_steps.push_back(step.range());
        m_steps = unionOf(std::move(m_steps));
    }

    void addTo(const RankEvents& events, Goodput& sum, std::vector<Goodput::Item>& items) {
        sum.wall += total(m_left);
        std::size_t item = 0;
        for (const BadputPhase& each : kBadputPhases) {
            const auto wanted = [&](Phase phase) { return phase == each.phase; };
            items[item++].time += take(phaseTime(events, wanted), m_left);
        }
        sum.productive += take(m_steps, m_left);
        const bool any = !m_steps.empty();
        const Timestamp first = any ? m_steps.front().begin : kNever;
        const Timestamp last = any ? m_steps.back().end : kNever;
        items[item++].time += take({{{-kNever.ns}, first}}, m_left);
        items[item++].time += take({{last, kNever}}, m_left);
        items[item].time += total(m_left);
    }

private:
    static constexpr Timestamp kNever{std::int64_t{1} << 61};
    Intervals m_left, m_steps;
};

std::vector<Goodput::Item> noItems() {
    std::vector<Goodput::Item> items;
    for (const BadputPhase& each : kBadputPhases) items.push_back({each.key, each.what, {}});
    items.push_back({"start", "Until the first step.", {}});
    items.push_back({"end", "After the last step.", {}});
    items.push_back({"between_steps", "Between steps.", {}});
    return items;
}

/// Forward FLOPs a token of one block.
double blockFlops(const run::ModelConfig& model) {
    return theory::forwardFlopsPerToken(model, theory::AttentionCount::kCausal).blocks() /
           static_cast<double>(model.layers);
}

/// FLOPs a token of a phase; zero: it multiplies no matrices.
double flopsOf(const SpanEvent& phase, const run::ModelConfig& model) {
    const bool block = phase.layer.value >= 0;
    switch (phase.phase) {
        case Phase::kForward:
        case Phase::kRecompute:
            return block ? blockFlops(model) : 0;
        case Phase::kBackward:
            return block ? 2 * blockFlops(model) : 0;
        case Phase::kHead:
            return 3 * theory::forwardFlopsPerToken(model, theory::AttentionCount::kCausal).head;
        default:
            return 0;
    }
}

using PartKey = std::pair<Phase, LayerIndex>;

/// Mean over the ranks that read the same counter.
struct Counter {
    double joules = 0;
    double ranks = 0;
};

/// Ranks whose device does not say which it is have one each.
std::string keyOf(const DeviceUse& use) {
    return use.device.uuid.empty() ? fmt::format("rank {}", use.device.rank.value)
                                   : use.device.uuid;
}

}  // namespace

std::vector<UtilisationBy> utilisationBy(const run::ModelConfig& model, double tokensPerSecond,
                                         std::optional<double> peakFlops) {
    std::vector<UtilisationBy> all;
    for (const theory::FlopsVariant variant : kAll<theory::FlopsVariant>) {
        UtilisationBy by{variant, theory::flopsPerToken(model, variant), 0, std::nullopt};
        by.flopsPerSecond = tokensPerSecond * by.flopsPerToken;
        if (peakFlops && *peakFlops > 0) by.utilisation = by.flopsPerSecond / *peakFlops;
        all.push_back(by);
    }
    return all;
}

double hardwareUtilisation(const run::RunConfig& config, double tokensPerSecond, double peakFlops) {
    return tokensPerSecond * theory::executedFlopsPerToken(config.model, recomputedBlocks(config)) /
           peakFlops;
}

GoodputTally::GoodputTally(const RecordingSummary& summary)
    : m_summary(summary), m_items(noItems()) {}

void GoodputTally::add(const RankEvents& events) {
    if (!events.phases.empty()) RankGoodput(m_summary, events).addTo(events, m_sum, m_items);
}

std::optional<Goodput> GoodputTally::goodput() const {
    if (m_sum.wall.ns <= 0) return std::nullopt;
    Goodput sum = m_sum;
    std::copy_if(m_items.begin(), m_items.end(), std::back_inserter(sum.badput),
                 [](const Goodput::Item& item) { return item.time.ns > 0; });
    return sum;
}

std::optional<Goodput> goodputOf(const RecordingSummary& summary,
                                 const std::vector<RankEvents>& ranks) {
    GoodputTally tally(summary);
    for (const RankEvents& events : ranks) tally.add(events);
    return tally.goodput();
}

std::vector<PartSpeed> partSpeeds(const RecordingSummary& summary, const run::ModelConfig& model,
                                  const RankEvents& events) {
    std::map<StepIndex, std::int64_t> tokens;
    for (const StepFacts& step : summary.steps)
        if (step.rank == events.rank) tokens[step.step] = step.tokens;
    std::map<PartKey, std::map<StepIndex, Duration>> times;
    std::map<PartKey, double> perToken;
    for (const SpanEvent& phase : events.phases) {
        const double flops = flopsOf(phase, model);
        if (flops <= 0 || !tokens.contains(phase.step)) continue;
        const PartKey part{phase.phase, phase.phase == Phase::kHead ? kNoLayer : phase.layer};
        times[part][phase.step] += phase.duration;
        perToken[part] = flops;
    }
    std::vector<PartSpeed> blocks;
    std::map<Phase, PartSpeed> whole;
    for (const auto& [part, bySteps] : times) {
        PartSpeed speed;
        speed.phase = part.first;
        speed.layer = part.second;
        speed.rank = events.rank;
        speed.steps = static_cast<std::int64_t>(bySteps.size());
        for (const auto& [step, time] : bySteps) {
            speed.time += time;
            // Its micro-steps have the step's tokens together, whatever their number.
            speed.flops += perToken[part] * static_cast<double>(tokens[step]);
        }
        PartSpeed& sum = whole[part.first];
        sum.phase = part.first;
        sum.rank = events.rank;
        sum.steps = std::max(sum.steps, speed.steps);
        sum.time += speed.time;
        sum.flops += speed.flops;
        if (part.second.value >= 0) blocks.push_back(speed);
    }
    std::vector<PartSpeed> all;
    for (const auto& [phase, sum] : whole) all.push_back(sum);
    all.insert(all.end(), blocks.begin(), blocks.end());
    return all;
}

std::vector<PartOfRanks> overRanks(const std::vector<PartSpeed>& parts) {
    std::map<std::pair<bool, PartKey>, PartOfRanks> sums;  // what is of all blocks goes first
    for (const PartSpeed& part : parts) {
        PartOfRanks& sum = sums[{part.layer.value >= 0, {part.phase, part.layer}}];
        sum.phase = part.phase;
        sum.layer = part.layer;
        ++sum.ranks;
        sum.time += part.time;
        sum.flops += part.flops;
        const auto speed = part.flopsPerSecond();
        if (!speed) continue;
        sum.slowest = std::min(sum.slowest.value_or(*speed), *speed);
        sum.fastest = std::max(sum.fastest.value_or(*speed), *speed);
    }
    std::vector<PartOfRanks> all;
    for (const auto& [part, sum] : sums) all.push_back(sum);
    return all;
}

RunEnergy runEnergy(const std::vector<DeviceUse>& devices, std::size_t ranks) {
    RunEnergy energy;
    if (devices.empty()) {
        energy.missing = "no rank has a device whose energy could be sampled";
        return energy;
    }
    std::map<std::string, Counter> counters;
    double tokens = 0;
    for (const DeviceUse& use : devices) {
        if (!use.joulesPerStep) {
            energy.missing = fmt::format("the energy of rank {}'s device was not sampled",
                                         use.device.rank.value);
            return energy;
        }
        Counter& counter = counters[keyOf(use)];
        counter.joules += *use.joulesPerStep;
        ++counter.ranks;
        if (use.joulesPerToken && *use.joulesPerToken > 0)
            tokens += *use.joulesPerStep / *use.joulesPerToken;
    }
    if (devices.size() < ranks) {
        energy.missing = "some ranks have no device whose energy could be sampled";
        return energy;
    }
    double joules = 0;
    for (const auto& [key, counter] : counters) joules += counter.joules / counter.ranks;
    energy.joulesPerStep = joules;
    if (tokens > 0) energy.joulesPerToken = joules / tokens;
    return energy;
}

}  // namespace shardscope::analysis
