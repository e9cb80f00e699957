#include "profiler/planning/compute_times.h"

#include "engine/run/config/model_tensors.h"
#include "engine/run/config/run_settings.h"
#include "engine/run/theory/model_theory.h"
#include "profiler/analysis/communication/host_clocks.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/steps/cores_taken.h"
#include "profiler/analysis/steps/slow_steps.h"
#include "profiler/planning/compute_parts.h"
#include "storage/model/host_facts.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace shardscope::planning {
namespace {

using analysis::medianOf;

constexpr std::size_t kLeastForMiddle = 8;
/// Of a run: by how far their medians lie apart, runs do.
constexpr std::size_t kStretches = 5;
/// Runs of equal settings differ by this much on a machine of their own, and on a virtual one,
/// whose caches, memory and clocks others use (42 equal runs of 2 s within 4 minutes: 0.038).
constexpr double kLeastSpread = 0.015, kLeastVirtualSpread = 0.035;

Duration computingOf(const Parts& parts) {
    Duration sum;
    for (const Duration each : parts) sum += each;
    return sum;
}

/// The middle half of the steps by how long they took; all of few.
std::set<StepIndex> middleOf(const analysis::SteadySteps& steady) {
    std::vector<std::pair<Duration, StepIndex>> byTime;
    for (const auto& [index, step] : steady.steps)
        byTime.emplace_back(step.range.duration(), index);
    std::sort(byTime.begin(), byTime.end());
    const std::size_t quarter = byTime.size() >= kLeastForMiddle ? byTime.size() / 4 : 0;
    std::set<StepIndex> middle;
    for (std::size_t i = quarter; i < byTime.size() - quarter; ++i) middle.insert(byTime[i].second);
    return middle;
}

class Learner {
public:
    explicit Learner(std::set<StepIndex> steps) : m_steps(std::move(steps)) {}

    void add(const std::map<StepIndex, Parts>& steps) {
        Parts sum{};
        std::int64_t count = 0;
        for (const auto& [step, parts] : steps) {
            if (!m_steps.contains(step)) continue;
            for (std::size_t i = 0; i < parts.size(); ++i) sum[i] += parts[i];
            ++count;
        }
        if (count == 0) return;
        for (std::size_t i = 0; i < sum.size(); ++i) m_sum[i] += Duration{sum[i].ns / count};
        ++m_ranks;
    }
    void addWaits(const std::vector<analysis::LedgerRow>& rows) {
        for (const analysis::LedgerRow& row : rows) {
            if (!m_steps.contains(row.step)) continue;
            m_waited += row.parts[analysis::at(analysis::LedgerPart::kWaiting)];
            ++m_rows;
        }
    }
    [[nodiscard]] Duration of(Part part) const { return {m_sum[placeOf(part)].ns / m_ranks}; }
    [[nodiscard]] Duration computing() const {
        Duration sum = computingOf(m_sum);
        return {sum.ns / m_ranks};
    }
    /// Of a step and rank, for the slowest one.
    [[nodiscard]] Duration waited() const { return {m_rows > 0 ? m_waited.ns / m_rows : 0}; }
    [[nodiscard]] std::int64_t ranks() const { return m_ranks; }

private:
    const std::set<StepIndex> m_steps;
    Parts m_sum{};
    Duration m_waited;
    std::int64_t m_ranks = 0, m_rows = 0;
};

double spreadOf(const analysis::SteadySteps& steady, const std::vector<FactRow>& facts) {
    std::vector<double> times;
    for (const auto& [index, step] : steady.steps) times.push_back(step.range.duration().seconds());
    return spreadOfRuns(times, facts);
}

/// Nearly all of them: a few are accidents of the machine.
Duration meanOfMost(std::vector<Duration> values) {
    std::sort(values.begin(), values.end());
    values.resize(values.size() - values.size() / 20);
    Duration sum;
    for (const Duration each : values) sum += each;
    return {sum.ns / static_cast<std::int64_t>(values.size())};
}

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
    const Duration computing = learner.computing();
    if (computing.ns > 0)
        found.lateness =
            static_cast<double>(learner.waited().ns) / static_cast<double>(computing.ns);
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

/// By operation and ranks, of all groups: of each size the median. The shortest, which says most of
/// the link, is not what a step waits for.
std::map<std::pair<CollectiveOp, std::int32_t>, std::vector<analysis::SizedTime>> sizedMedians(
    const std::vector<analysis::Transfer>& transfers) {
    std::map<std::pair<CollectiveOp, std::int32_t>, std::map<std::int64_t, std::vector<Duration>>>
        bySize;
    for (const analysis::Transfer& each : transfers)
        if (each.transfer && each.size.count > 0 && moves(each.operation))
            bySize[{each.operation, each.ranks}][each.size.count].push_back(*each.transfer);
    std::map<std::pair<CollectiveOp, std::int32_t>, std::vector<analysis::SizedTime>> medians;
    for (auto& [key, sizes] : bySize)
        for (auto& [size, times] : sizes)
            medians[key].push_back({Bytes{size}, medianOf(std::move(times))});
    return medians;
}

double withoutCore(const RecordingSummary& summary, const analysis::SteadySteps& steady) {
    std::set<StepIndex> steps;
    for (const auto& [index, step] : steady.steps) steps.insert(index);
    return analysis::coreUse(summary, steps).takenOfSteps();
}

/// Why nothing can be forecast from it; empty: it can.
std::string whyNoBase(double withoutCore) {
    if (withoutCore < analysis::kManyTaken) return {};
    return fmt::format(
        "its ranks were without a core for {:.0f} % of step time, so that its times are the "
        "machine's: record it again with nothing else running",
        100 * withoutCore);
}

}  // namespace

double spreadOfRuns(const std::vector<double>& stepSeconds, const std::vector<FactRow>& facts) {
    const bool isVirtual = std::any_of(facts.begin(), facts.end(), [](const FactRow& fact) {
        return fact.name == toWord(Fact::kHardware) && fact.value == kVirtualHardware;
    });
    const double least = isVirtual ? kLeastVirtualSpread : kLeastSpread;
    if (stepSeconds.size() < 2 * kStretches) return least;
    std::vector<double> medians;
    for (std::size_t i = 0; i < kStretches; ++i) {
        const auto at = [&](std::size_t n) {
            return stepSeconds.begin() +
                   static_cast<std::ptrdiff_t>(n * stepSeconds.size() / kStretches);
        };
        medians.push_back(medianOf(std::vector<double>(at(i), at(i + 1))));
    }
    const double median = medianOf(stepSeconds);
    return median > 0 ? std::max(least, analysis::spreadAround(median, medians) / median) : least;
}

Result<ComputeTimes> computeTimesOf(const RecordingSummary& summary,
                                    const std::vector<RankEvents>& ranks) {
    auto config = run::parseRunConfigJson(summary.run.configJson);
    if (!config)
        return failure(ErrorCode::kUsage,
                       sourceOf(summary.run) == RecordingSource::kProgram
                           ? "it is a run of another program, which does not say what a step "
                             "computes: only of Shardscope's own trainings that is known"
                           : "it was not made by `shardscope record`: only there it is known what "
                             "a step computes");
    if (config->work != run::Work::kTraining)
        return failure(ErrorCode::kUsage,
                       "its ranks measured a machine and trained nothing: take a recording of a "
                       "training run");
    if (config->tensor > 1) return failure(ErrorCode::kUsage, kSharedLayersUnknown);
    const analysis::SteadySteps steady = analysis::steadyWithDetail(summary, ranks);
    const bool device = config->device == run::Device::kCuda;
    const double starved = withoutCore(summary, steady);
    if (const auto refused = whyNoBase(starved); !refused.empty())
        return failure(ErrorCode::kUsage, refused);
    Learner learner(middleOf(steady));
    std::vector<Duration> woken;
    for (const RankEvents& events : ranks) {
        const auto steps = device ? deviceParts(summary, events, steady, *config)
                                  : hostParts(summary, events, steady);
        if (steps.empty()) continue;
        learner.add(steps);
        if (!device) learner.addWaits(analysis::rankLedger(summary, events));
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
    if (!woken.empty()) found.wake = meanOfMost(std::move(woken));
    found.spread = spreadOf(steady, summary.facts);
    std::vector<Duration> walls;
    for (const auto& [index, step] : steady.steps) walls.push_back(step.range.duration());
    found.recorded = medianOf(std::move(walls));
    found.ranksOnHost = mostOnAHost(*config);
    found.config.hosts.clear();  // other numbers of ranks have other hosts
    if (!device && !summary.hosts.empty()) found.cores = summary.hosts.front().cores;
    found.steps = static_cast<std::int32_t>(steady.steps.size());
    found.withoutCore = starved;
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
    Fitted fitted{{}, fit.most};
    theory::LinkModel& link = fitted.link;
    link.latencySeconds = fit.latencyNs * kNanosecond / hops / rounds;
    link.bytesPerSecond = fit.nsPerByte > 0 ? rounds * hops / ranks / (fit.nsPerByte * kNanosecond)
                                            : std::numeric_limits<double>::max();
    m_known[{operation, ranks}] = fitted;
    std::map<CollectiveOp, theory::LinkModel> ofMostRanks;
    for (const auto& [key, known] : m_known) ofMostRanks[key.first] = known.link;
    m_link = meanOf(ofMostRanks);
}

const theory::LinkModel* LinkTimes::known(CollectiveOp operation, std::int32_t ranks,
                                          Bytes size) const {
    const auto found = m_known.find({operation, ranks});
    if (found == m_known.end()) return nullptr;
    const Fitted& fitted = found->second;
    const bool reaches =
        fitted.most.count == 0 ||
        static_cast<double>(size.count) <= kFitReach * static_cast<double>(fitted.most.count);
    return reaches ? &fitted.link : nullptr;
}

bool LinkTimes::covers(CollectiveOp operation, std::int32_t ranks, Bytes size) const {
    if (m_known.empty() || ranks < 2 || known(operation, ranks, size) != nullptr) return true;
    return operation == CollectiveOp::kAllReduce &&
           known(CollectiveOp::kReduceScatter, ranks, size) != nullptr &&
           known(CollectiveOp::kAllGather, ranks, size) != nullptr;
}

std::optional<Bytes> LinkTimes::reachOf(CollectiveOp operation, std::int32_t ranks) const {
    const auto found = m_known.find({operation, ranks});
    if (found == m_known.end() || found->second.most.count == 0) return std::nullopt;
    return Bytes{std::llround(kFitReach * static_cast<double>(found->second.most.count))};
}

std::string LinkTimes::whyUnknown(CollectiveOp operation, std::int32_t ranks, Bytes size) const {
    if (covers(operation, ranks, size)) return {};
    std::string what = fmt::format("no {}", toWord(operation));
    auto reach = reachOf(operation, ranks);
    if (operation == CollectiveOp::kAllReduce) {
        const auto scatter = reachOf(CollectiveOp::kReduceScatter, ranks);
        const auto gather = reachOf(CollectiveOp::kAllGather, ranks);
        if (scatter && gather && std::min(*scatter, *gather) > reach.value_or(Bytes{})) {
            reach = std::min(*scatter, *gather);
            what =
                "neither an all-reduce nor the reduce-scatter and all-gather that it consists of";
        }
    }
    if (reach)
        return fmt::format(
            "{} among {} ranks was measured above {}; the fit is used up to {}, and one of {} is "
            "needed",
            what, ranks,
            bytesText(Bytes{std::llround(static_cast<double>(reach->count) / kFitReach)}),
            bytesText(*reach), bytesText(size));
    std::set<std::int32_t> others;
    for (const auto& [key, fitted] : m_known)
        if (key.first == operation) others.insert(key.second);
    return fmt::format(
        "{} among {} ranks was measured{}", what, ranks,
        others.empty() ? "" : fmt::format(", only among {}", fmt::join(others, ", ")));
}

const theory::LinkModel& LinkTimes::model(CollectiveOp operation) const {
    const theory::LinkModel* found = &m_link;
    for (const auto& [key, fitted] : m_known)
        if (key.first == operation) found = &fitted.link;
    return *found;
}

Duration LinkTimes::of(CollectiveOp operation, std::int32_t ranks, Bytes size) const {
    const auto ns = [&](const theory::LinkModel& link, CollectiveOp as) {
        return theory::modelledNs(link, as, ranks, size.count);
    };
    if (const auto* own = known(operation, ranks, size)) return {ns(*own, operation)};
    const auto* scatter = known(CollectiveOp::kReduceScatter, ranks, size);
    const auto* gather = known(CollectiveOp::kAllGather, ranks, size);
    if (operation == CollectiveOp::kAllReduce && scatter != nullptr && gather != nullptr)
        return {ns(*scatter, CollectiveOp::kReduceScatter) + ns(*gather, CollectiveOp::kAllGather)};
    return {ns(model(operation), operation)};
}

std::string LinkTimes::source() const {
    std::map<std::int32_t, std::vector<std::string>> byRanks;
    for (const auto& [key, fitted] : m_known) {
        const auto reach = reachOf(key.first, key.second);
        byRanks[key.second].push_back(toWord(key.first) +
                                      (reach ? fmt::format(" up to {}", bytesText(*reach)) : ""));
    }
    std::string text = m_source;
    for (const auto& [ranks, fits] : byRanks)
        text += fmt::format("{} among {} ranks: {}", &fits == &byRanks.begin()->second ? "," : ";",
                            ranks, fmt::join(fits, ", "));
    return text + (byRanks.empty() ? "" : "; unknown beyond");
}

LinkTimes LinkTimes::scaled(double latency, double bandwidth) const {
    LinkTimes other = *this;
    const auto scale = [&](theory::LinkModel& link) {
        link.latencySeconds *= latency;
        link.bytesPerSecond *= bandwidth;
    };
    scale(other.m_link);
    for (auto& [key, fitted] : other.m_known) scale(fitted.link);
    return other;
}

std::optional<LinkTimes> takeGivenLink(run::RunConfig& config) {
    const double gigabytes = std::exchange(config.linkGigabytesPerSecond, 0);
    const double microseconds = std::exchange(config.linkLatencyMicroseconds, 0);
    if (gigabytes <= 0) return std::nullopt;
    return LinkTimes({microseconds * 1e-6, gigabytes * 1e9},
                     fmt::format("a link of {:g} µs and {:g} GB/s", microseconds, gigabytes));
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
    for (const auto& [key, times] : sizedMedians(analysis::transfersOf(ranks, clocks))) {
        auto fit = analysis::fitAlphaBeta(times);
        // Of sizes too close to tell latency from bandwidth: as long per byte as the largest.
        if (!fit)
            fit = analysis::AlphaBeta{0,
                                      static_cast<double>(times.back().time.ns) /
                                          static_cast<double>(times.back().size.count),
                                      1, times.front().size, times.back().size};
        if (key.second < 2) continue;
        if (!found) found.emplace(theory::LinkModel{}, "fitted to the recorded collectives");
        found->set(key.first, key.second, *fit);
    }
    return found;
}

}  // namespace shardscope::planning
