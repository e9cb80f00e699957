#include "profiler/planning/compute_times.h"

#include "engine/run/config/model_tensors.h"
#include "engine/run/config/run_settings.h"
#include "engine/run/theory/model_theory.h"
#include "profiler/analysis/communication/host_clocks.h"
#include "profiler/analysis/findings.h"
#include "profiler/planning/compute_parts.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace shardscope::planning {
namespace {

using analysis::medianOf;

Duration computingOf(const Parts& parts) {
    Duration sum;
    for (const Duration each : parts) sum += each;
    return sum;
}

class Learner {
public:
    void add(const std::map<StepIndex, Parts>& steps) {
        std::array<std::vector<Duration>, static_cast<std::size_t>(Part::kCount)> times;
        std::vector<double> computing;
        for (const auto& [step, parts] : steps) {
            for (std::size_t i = 0; i < parts.size(); ++i) times[i].push_back(parts[i]);
            computing.push_back(computingOf(parts).seconds());
        }
        for (std::size_t i = 0; i < times.size(); ++i) m_sum[i] += medianOf(times[i]);
        const double median = medianOf(computing);
        for (const double each : computing) m_relative.push_back(median > 0 ? each / median : 1);
        ++m_ranks;
    }
    [[nodiscard]] Duration of(Part part) const { return {m_sum[placeOf(part)].ns / m_ranks}; }
    [[nodiscard]] double relative(double share) {
        std::sort(m_relative.begin(), m_relative.end());
        const auto last = static_cast<double>(m_relative.size() - 1);
        return m_relative[static_cast<std::size_t>(std::lround(share * last))];
    }
    [[nodiscard]] std::int64_t ranks() const { return m_ranks; }

private:
    Parts m_sum{};
    std::vector<double> m_relative;
    std::int64_t m_ranks = 0;
};

Duration divided(Duration time, double by) {
    return {by > 0 ? std::llround(static_cast<double>(time.ns) / by) : 0};
}

Duration times(Duration time, double factor) {
    return {std::llround(static_cast<double>(time.ns) * factor)};
}

std::int64_t elementsOf(const run::RunConfig& config, Phase phase) {
    std::int64_t count = 0;
    for (const StepTask& task : stepTasks(config, 1))
        if (task.kind == StepTask::Kind::kCompute && task.phase == phase) count += task.elements;
    return count;
}

std::int32_t mostOnAHost(const run::RunConfig& config) {
    const run::RankPlaces places = run::placesOf(config);
    std::int32_t most = 1;
    for (std::int32_t host = 0; host < places.hosts(); ++host)
        most = std::max(most, places.ranksOf(host));
    return most;
}

ComputeTimes timesOf(Learner& learner, const run::RunConfig& config) {
    const auto layers = static_cast<double>(config.model.layers);
    const double micro = config.accumulate;
    const auto recomputed = static_cast<double>(recomputedBlocks(config));
    const auto perElement = [&](Part part, Phase phase) {
        const auto elements = static_cast<double>(elementsOf(config, phase));
        return elements > 0 ? static_cast<double>(learner.of(part).ns) / elements : 0;
    };
    ComputeTimes found;
    found.config = config;
    found.data = divided(learner.of(Part::kData), micro);
    found.embed = divided(learner.of(Part::kEmbed), micro);
    found.embedBackward = divided(learner.of(Part::kEmbedBackward), micro);
    found.block = divided(learner.of(Part::kBlock), micro * layers);
    found.blockBackward = divided(learner.of(Part::kBlockBackward), micro * layers);
    found.recompute =
        recomputed > 0 ? divided(learner.of(Part::kRecompute), micro * recomputed) : found.block;
    found.head = divided(learner.of(Part::kHead), micro);
    found.clipNs = perElement(Part::kClip, Phase::kClip);
    found.optimizerNs = perElement(Part::kOptimizer, Phase::kOptimizer);
    found.rest = learner.of(Part::kRest);
    found.low = learner.relative(0.1);
    found.high = learner.relative(0.9);
    return found;
}

struct Work {
    double tokens = 0, blocks = 0, head = 0, embedding = 0;
};
/// A micro-step's; of one block.
Work workOf(const run::RunConfig& config) {
    const auto flops = theory::forwardFlopsPerToken(config.model, theory::AttentionCount::kCausal);
    Work work;
    work.tokens = static_cast<double>(config.batch * config.model.context);
    work.blocks = work.tokens * flops.blocks() / static_cast<double>(config.model.layers);
    work.head = work.tokens * flops.head * headPasses(config);
    work.embedding = work.tokens * static_cast<double>(config.model.hidden);
    return work;
}

constexpr double kNsPerSecond = 1e9;
constexpr double kFloatBytes = 4;
/// AdamW reads parameter, gradient and two moments, and writes all but the gradient.
constexpr double kUpdateBytes = 7 * kFloatBytes;

Duration nanoseconds(double seconds) {
    return {std::llround(seconds * kNsPerSecond)};
}

constexpr double kNanosecond = 1e-9;

/// Rounds of the ring: an all-reduce gathers what it has scattered.
double roundsOf(CollectiveOp operation) {
    return operation == CollectiveOp::kAllReduce ? 2 : 1;
}

theory::LinkModel meanOf(const std::map<CollectiveOp, theory::LinkModel>& known) {
    theory::LinkModel mean;
    double secondsPerByte = 0;
    for (const auto& [operation, link] : known) {
        mean.latencySeconds += link.latencySeconds / static_cast<double>(known.size());
        secondsPerByte += 1 / link.bytesPerSecond / static_cast<double>(known.size());
    }
    mean.bytesPerSecond = 1 / secondsPerByte;
    return mean;
}

}  // namespace

Result<ComputeTimes> computeTimesOf(const RecordingSummary& summary,
                                    const std::vector<RankEvents>& ranks) {
    auto config = run::parseRunConfigJson(summary.run.configJson);
    if (!config)
        return failure(ErrorCode::kUsage,
                       "it was not made by `shardscope record`: only there it is known what a step "
                       "computes");
    if (config->work != run::Work::kTraining)
        return failure(ErrorCode::kUsage,
                       "its ranks measured a machine and trained nothing: take a recording of a "
                       "training run");
    const analysis::SteadySteps steady = analysis::steadySteps(summary, ranks);
    const bool device = config->device == run::Device::kCuda;
    Learner learner;
    std::vector<Duration> woken;
    for (const RankEvents& events : ranks) {
        const auto steps = device ? deviceParts(summary, events, steady, *config)
                                  : hostParts(summary, events, steady);
        if (steps.empty()) continue;
        learner.add(steps);
        const auto each = wakes(events);
        woken.insert(woken.end(), each.begin(), each.end());
    }
    if (learner.ranks() == 0)
        return failure(ErrorCode::kUsage,
                       device
                           ? "it holds no step to learn from: record a few steps with the kernels "
                             "of the device, --device-capture kernels"
                           : "it holds no step to learn from: record a few steps with --capture "
                             "light or full");
    ComputeTimes found = timesOf(learner, *config);
    if (!woken.empty()) found.wake = medianOf(woken);
    found.ranksOnHost = mostOnAHost(*config);
    found.config.hosts.clear();  // other numbers of ranks have other hosts
    if (!device && !summary.hosts.empty()) found.cores = summary.hosts.front().cores;
    found.steps = static_cast<std::int32_t>(steady.steps.size());
    return found;
}

double crowding(std::int32_t ranksOnHost, std::int32_t threads, std::int32_t cores) {
    if (cores <= 0) return 1;
    return std::max(1.0, static_cast<double>(ranksOnHost) * std::max(threads, 1) / cores);
}

CarriedTimes::CarriedTimes(const ComputeTimes& times, const run::RunConfig& config,
                           std::int32_t ranksOnHost)
    : m_times(times) {
    const Work own = workOf(config), recorded = workOf(times.config);
    m_tokens = own.tokens / recorded.tokens;
    m_blocks = own.blocks / recorded.blocks;
    m_heads = own.head / recorded.head;
    m_embedding = own.embedding / recorded.embedding;
    const auto pieces = static_cast<double>(run::vocabularyPieces(config).count);
    m_tokenPieces = std::max(1.0, pieces);
    m_headPieces = pieces > 1 ? 2 * pieces : 1;
    m_crowding = crowding(ranksOnHost, config.threads, times.cores) /
                 crowding(times.ranksOnHost, times.config.threads, times.cores);
}

Duration CarriedTimes::of(const StepTask& task) const {
    const auto elements = static_cast<double>(task.elements);
    switch (partOf(task.phase, task.layer)) {
        case Part::kData:
            return times(m_times.data, m_tokens * m_crowding);
        case Part::kEmbed:
            return times(m_times.embed, m_embedding * m_crowding / m_tokenPieces);
        case Part::kEmbedBackward:
            return times(m_times.embedBackward, m_embedding * m_crowding / m_tokenPieces);
        case Part::kBlock:
            return times(m_times.block, m_blocks * m_crowding);
        case Part::kBlockBackward:
            return times(m_times.blockBackward, m_blocks * m_crowding);
        case Part::kRecompute:
            return times(m_times.recompute, m_blocks * m_crowding);
        case Part::kHead:
            return times(m_times.head, m_heads * m_crowding / m_headPieces);
        case Part::kClip:
            return {std::llround(elements * m_times.clipNs * m_crowding)};
        case Part::kOptimizer:
            return {std::llround(elements * m_times.optimizerNs * m_crowding)};
        default:
            return {};
    }
}

Duration CarriedTimes::rest() const {
    return times(m_times.rest, m_crowding);
}

ComputeTimes timesAt(const run::RunConfig& config, const ComputeRate& rate,
                     const Utilisation& utilisation) {
    const auto flops = theory::forwardFlopsPerToken(config.model, theory::AttentionCount::kCausal);
    const auto tokens = static_cast<double>(config.batch * config.model.context);
    const double reached = utilisation.expected * rate.flops;
    const double rows =
        tokens * static_cast<double>(config.model.hidden) * kFloatBytes / rate.bytesPerSecond;
    ComputeTimes times;
    times.config = config;
    times.block =
        nanoseconds(tokens * flops.blocks() / static_cast<double>(config.model.layers) / reached);
    times.blockBackward = {2 * times.block.ns};
    times.recompute = times.block;
    times.head = nanoseconds(3 * tokens * flops.head / reached);
    times.embed = nanoseconds(2 * rows);
    times.embedBackward = nanoseconds(3 * rows);
    times.clipNs = kFloatBytes / rate.bytesPerSecond * kNsPerSecond;
    times.optimizerNs = kUpdateBytes / rate.bytesPerSecond * kNsPerSecond;
    times.low = utilisation.expected / utilisation.high;
    times.high = utilisation.expected / utilisation.low;
    times.ranksOnHost = config.ranks;
    return times;
}

LinkTimes::LinkTimes(const theory::LinkModel& link, std::string source)
    : m_link(link), m_source(std::move(source)) {}

void LinkTimes::set(CollectiveOp operation, std::int32_t ranks, const analysis::AlphaBeta& fit) {
    if (ranks < 2) return;
    const double hops = ranks - 1, rounds = roundsOf(operation);
    theory::LinkModel link;
    link.latencySeconds = fit.latencyNs * kNanosecond / hops / rounds;
    link.bytesPerSecond = fit.nsPerByte > 0 ? rounds * hops / ranks / (fit.nsPerByte * kNanosecond)
                                            : std::numeric_limits<double>::max();
    m_known[operation] = link;
    m_link = meanOf(m_known);
}

const theory::LinkModel& LinkTimes::model(CollectiveOp operation) const {
    const auto found = m_known.find(operation);
    return found == m_known.end() ? m_link : found->second;
}

Duration LinkTimes::of(CollectiveOp operation, std::int32_t ranks, Bytes size) const {
    return {theory::modelledNs(model(operation), operation, ranks, size.count)};
}

LinkTimes LinkTimes::scaled(double latency, double bandwidth) const {
    LinkTimes other = *this;
    const auto scale = [&](theory::LinkModel& link) {
        link.latencySeconds *= latency;
        link.bytesPerSecond *= bandwidth;
    };
    scale(other.m_link);
    for (auto& [operation, link] : other.m_known) scale(link);
    return other;
}

std::optional<LinkTimes> takeGivenLink(run::RunConfig& config) {
    const double gigabytes = std::exchange(config.linkGigabytesPerSecond, 0);
    const double microseconds = std::exchange(config.linkLatencyMicroseconds, 0);
    if (gigabytes <= 0) return std::nullopt;
    return LinkTimes({microseconds * 1e-6, gigabytes * 1e9},
                     fmt::format("a link of {:g} us and {:g} GB/s", microseconds, gigabytes));
}

std::optional<LinkTimes> modelledLinkOf(const run::RunConfig& config) {
    if (config.linkGigabytesPerSecond <= 0) return std::nullopt;
    return LinkTimes({config.linkLatencyMicroseconds * 1e-6, config.linkGigabytesPerSecond * 1e9},
                     run::modelledLink(config));
}

std::optional<LinkTimes> linkOf(const RecordingSummary& summary,
                                const std::vector<RankEvents>& ranks) {
    if (const auto config = run::parseRunConfigJson(summary.run.configJson))
        if (const auto modelled = modelledLinkOf(*config)) return modelled;
    std::optional<LinkTimes> found;
    const analysis::HostClocks clocks(summary, ranks);
    for (const auto& each : analysis::classesOf(analysis::transfersOf(ranks, clocks))) {
        if (!each.fit || each.group != 0 || each.ranks < 2) continue;
        if (!found) found.emplace(theory::LinkModel{}, "fitted to the recorded collectives");
        found->set(each.operation, each.ranks, *each.fit);
    }
    return found;
}

}  // namespace shardscope::planning
