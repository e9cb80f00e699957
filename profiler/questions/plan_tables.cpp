#include "profiler/questions/plan_tables.h"

#include "engine/run/theory/model_theory.h"
#include "profiler/questions/answer/cells.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace shardscope::questions {
namespace {

using planning::DividedPlan;
using planning::Forecast;
using planning::ProjectionRow;
using planning::StrategyPlan;

constexpr const char* kStep = "Of the schedule, played.";
constexpr const char* kFrom =
    "Four in five runs have their median step between this and the next: by the model's error on "
    "the recorded step, how far runs lie apart, and how far the settings are from the recorded "
    "ones. By a data sheet: with the most that devices are known to reach.";
constexpr const char* kTo = "Its other end; by a data sheet with the least.";
constexpr const char* kWaiting = "Of the step, communication that nothing hides.";

std::int64_t whole(double value) {
    return std::llround(value);
}

const char* fitsWord(std::optional<bool> fits) {
    if (!fits) return "not known";
    return *fits ? "yes" : "no";
}

bool recommendedHere(const StrategyPlan& plan) {
    return plan.fits.value_or(false) && plan.recommended;
}

/// In a row of many devices, under a title that says what the mark is.
const char* fitsWord(const StrategyPlan& plan) {
    return recommendedHere(plan) ? "yes *" : fitsWord(plan.fits);
}

/// Of a strategy of the engine, or of a way to shard; names of columns are static.
Column columnOf(const StrategyPlan& plan) {
    if (const auto strategy = fromWord<run::Strategy>(plan.word))
        return {toWord(*strategy), entryOf(*strategy)->name};
    const auto sharding = fromWord<planning::Sharding>(plan.word);
    return {toWord(*sharding), entryOf(*sharding)->name};
}

std::vector<std::pair<const char*, double>> partsOf(const run::ModelConfig& model) {
    const auto flops = theory::forwardFlopsPerToken(model, theory::AttentionCount::kCausal);
    return {{"queries, keys, values", flops.qkv},
            {"attention", flops.attention},
            {"projection", flops.projection},
            {"feed-forward", flops.feedForward},
            {"head", flops.head}};
}

}  // namespace

std::string memoryText(Bytes memory) {
    return fmt::format("{} ({})", decimalBytesText(static_cast<double>(memory.count)),
                       bytesText(memory));
}

Table strategyTable(const std::vector<StrategyPlan>& plans) {
    Table table{
        "strategies",
        "Strategies",
        {{"strategy", "strategy"},
         {"state_bytes_per_rank", "state per rank", Unit::kBytes,
          "Parameters, gradients and optimizer state that a rank keeps from step to step."},
         {"peak_bytes_per_rank", "peak per rank", Unit::kBytes,
          "The most that a rank holds at a time, activations and buffers too.", Shown::kWhereAny},
         {"communication_bytes_per_step", "sent per step", Unit::kBytes,
          "By a rank; as much is received."},
         {"fits", "fits", Unit::kNone, "Into the memory of a device."},
         {"reason", "why"}},
        {}};
    for (const StrategyPlan& plan : plans)
        table.rows.push_back({plan.name, whole(plan.stateBytesPerRank),
                              plan.peakBytesPerRank ? Cell(whole(*plan.peakBytesPerRank)) : Cell(),
                              whole(plan.communicationBytesPerStep),
                              recommendedHere(plan) ? "yes, recommended" : fitsWord(plan.fits),
                              plan.reason});
    return table;
}

Table limitsTable(const std::vector<planning::StrategyLimits>& limits) {
    Table table{"limits",
                "How far each goes in this memory",
                {{"strategy", "strategy"},
                 {"largest_batch", "largest batch", Unit::kCount, "Sequences per rank."},
                 {"largest_context", "largest context", Unit::kCount,
                  "Tokens of a sequence, at the batch that was given."},
                 {"fewest_ranks", "fewest ranks", Unit::kCount, "Powers of two, at that batch."}},
                {}};
    for (const planning::StrategyLimits& each : limits)
        table.rows.push_back({entryOf(each.strategy)->name,
                              each.batch ? Cell(std::int64_t{*each.batch}) : Cell(),
                              each.context ? Cell(*each.context) : Cell(),
                              each.ranks ? Cell(std::int64_t{*each.ranks}) : Cell()});
    return table;
}

Table timeTable(const std::vector<StrategyPlan>& plans) {
    Table table{"times",
                "Time of a step, estimated",
                {{"strategy", "strategy"},
                 {"step_ns", "step", Unit::kNanoseconds, kStep},
                 {"low_ns", "from", Unit::kNanoseconds, kFrom},
                 {"high_ns", "to", Unit::kNanoseconds, kTo},
                 {"tokens_per_s", "tokens/s", Unit::kTokensPerSecond, "Of all ranks."},
                 {"waiting_pct", "waiting", Unit::kPercent, kWaiting},
                 {"bound_by", "bound by", Unit::kNone,
                  "What takes longer: all that a rank computes, or all that its links move."},
                 {"balance_tokens", "balance at, tokens", Unit::kCount,
                  "Tokens per rank and step from which on computing takes longer than moving."},
                 // Too long for a cell: people read timesUnknown().
                 {"time_unknown", "why unknown", Unit::kNone,
                  "Why the step's time is unknown, where something says how long ranks compute.",
                  Shown::kToScripts}},
                {}};
    for (const StrategyPlan& plan : plans) {
        if (!plan.forecast) {
            table.rows.push_back({plan.name,
                                  {},
                                  {},
                                  {},
                                  {},
                                  {},
                                  {},
                                  {},
                                  plan.timeUnknown.empty() ? Cell() : Cell(plan.timeUnknown)});
            continue;
        }
        const Forecast& made = *plan.forecast;
        table.rows.push_back({plan.name,
                              made.step.time.ns,
                              made.low.ns,
                              made.high.ns,
                              finite(made.tokensPerSecond),
                              percent(made.waitingShare()),
                              made.communicationBound() ? "communication" : "compute",
                              plan.tippingTokens ? Cell(whole(*plan.tippingTokens)) : Cell(),
                              {}});
    }
    return table;
}

std::vector<std::string> timesUnknown(const std::vector<StrategyPlan>& plans) {
    std::vector<std::string> sentences;
    for (const StrategyPlan& plan : plans)
        if (!plan.timeUnknown.empty())
            sentences.push_back(
                fmt::format("{}: step time unknown: {}", plan.name, plan.timeUnknown));
    return sentences;
}

Table projectionTable(const std::vector<ProjectionRow>& rows, planning::Scaled scaled) {
    const bool weak = scaled == planning::Scaled::kWeak;
    Table table{
        weak ? "weak" : "strong",
        weak ? "Every rank keeps its batch (weak scaling), estimated"
             : "All ranks together keep their batch (strong scaling), estimated",
        {{"ranks", "ranks", Unit::kCount},
         {"step_ns", "step", Unit::kNanoseconds, kStep},
         {"low_ns", "from", Unit::kNanoseconds, kFrom},
         {"high_ns", "to", Unit::kNanoseconds, kTo},
         {"tokens_per_s", "tokens/s", Unit::kTokensPerSecond, "Of all ranks."},
         {"efficiency_pct", "efficiency", Unit::kPercent,
          "Tokens/s over ranks times those of one rank; above 100 where what each rank has to "
          "update shrinks."},
         {"waiting_pct", "waiting", Unit::kPercent, kWaiting}},
        {}};
    for (const ProjectionRow& row : rows) {
        const Forecast& made = row.forecast;
        table.rows.push_back({std::int64_t{row.ranks}, made.step.time.ns, made.low.ns, made.high.ns,
                              finite(made.tokensPerSecond), percent(row.efficiency),
                              percent(made.waitingShare())});
    }
    return table;
}

std::string aboveLinear(const std::vector<ProjectionRow>& rows, const planning::PlanTimes& times) {
    constexpr double kAbove = 1.0005;  // shows as more than 100 %
    const auto best = std::max_element(
        rows.begin(), rows.end(),
        [](const ProjectionRow& a, const ProjectionRow& b) { return a.efficiency < b.efficiency; });
    if (best == rows.end() || best->efficiency < kAbove) return {};
    const ProjectionRow& first = rows.front();
    std::string text = fmt::format(
        "Efficiency above 100 %: ranks share the gradient norm and, under ZeRO, the update: {} per "
        "step on {}, {} on {}.",
        durationText(best->forecast.step.updating), counted(best->ranks, "rank"),
        durationText(first.forecast.step.updating), counted(first.ranks, "rank"));
    const planning::ComputeTimes& own = planning::timesFor(times, first.ranks);
    if (own.recorded && own.ranksOnHost > first.ranks)
        text += fmt::format(
            " One rank was not recorded: estimated from {} that shared caches and memory, it may "
            "be faster, and the efficiency lower.",
            counted(own.ranksOnHost, "rank"));
    return text;
}

Table fitsOnTable(const std::vector<planning::FitsOnDevice>& devices) {
    Table table{"fits_on",
                "Fits on, by memory alone (*: sends least of what fits there)",
                {{"device", "device"},
                 {"memory", "memory", Unit::kNone, "By its data sheet.", Shown::kToScripts},
                 {"memory_bytes", "memory", Unit::kBytes,
                  "By its data sheet, which counts in powers of 1000: 80 GB are 74.5 GiB."}},
                {}};
    for (const StrategyPlan& plan : devices.front().plans) table.columns.push_back(columnOf(plan));
    for (const planning::FitsOnDevice& each : devices) {
        std::vector<Cell> row{std::string(each.device), sizeText(each.memory), each.memory.count};
        for (const StrategyPlan& plan : each.plans) row.emplace_back(fitsWord(plan));
        table.rows.push_back(std::move(row));
    }
    return table;
}

Table divisionTable(const std::vector<DividedPlan>& plans, std::optional<Bytes> memory) {
    Table table{
        "divisions",
        "Divided by tensors and stages, as theory only: this engine does not train so",
        {{"name", "division"},
         {"state_bytes_per_rank", "state per rank", Unit::kBytes,
          "N' (p + g + o / d), N' = L l / (t p) + table / t parameters: the optimizer's "
          "is divided over data parallel ranks as well."},
         {"activation_bytes_per_rank", "activations per rank", Unit::kBytes,
          "With all kept in 2 bytes and dropout s b h (10 + 24 / t + 5 a s / (h t)) bytes of a "
          "layer, times L / p layers and the min(m, p) micro-batches on their way through the "
          "first stage "
          "(Korthikanti et al., arXiv 2205.05198)."},
         {"tensor_bytes_per_step", "sent for tensors", Unit::kBytes,
          "By each rank per step: 4 all-reduces of 2 s b h bytes per layer and micro-batch, "
          "6 where layers are computed again; each sends 2 (t - 1) / t of its size."},
         {"pipeline_bytes_per_step", "for stages", Unit::kBytes,
          "2 s b h bytes per micro-batch to each neighbour: m x 2 s b h of two stages, twice "
          "that of a middle one."},
         {"data_bytes_per_step", "for data", Unit::kBytes,
          "N' (g + p) (d - 1) / d: gradients and parameters by rings."},
         {"bubble_pct", "bubble", Unit::kPercent,
          "(p - 1) / (m + p - 1) of the step, in which stages wait for their first "
          "micro-batch or their last (Narayanan et al., arXiv 2104.04473)."},
         {"fits", "fits"}},
        {}};
    for (const DividedPlan& plan : plans) {
        std::optional<bool> fits;
        if (memory) fits = plan.bytes() <= static_cast<double>(memory->count);
        table.rows.push_back({plan.name, whole(plan.stateBytes), whole(plan.activationBytes),
                              whole(plan.tensorTraffic), whole(plan.pipelineTraffic),
                              whole(plan.dataTraffic), percent(plan.bubble), fitsWord(fits)});
    }
    return table;
}

Table flopsTable(const run::ModelConfig& model) {
    Table table{"flops",
                "FLOPs of products by part, causal attention; backward takes twice as many",
                {{"part", "part"},
                 {"forward_flop_per_token", "forward, per token", Unit::kFlop},
                 {"share_pct", "share", Unit::kPercent, "Of a model's forward."}},
                {}};
    const auto parts = partsOf(model);
    double all = 0;
    for (const auto& [name, flops] : parts) all += flops;
    for (const auto& [name, flops] : parts)
        table.rows.push_back({name, finite(flops), percent(flops / all)});
    return table;
}

Table flopsVariantTable(const run::ModelConfig& model) {
    Table table{"flops_variants",
                "As others count them for MFU, forward and backward",
                {{"variant", "counted as"},
                 {"flop_per_token", "per token", Unit::kFlop},
                 {"against_exact_pct", "against exact", Unit::kChange},
                 {"counts", "what it counts"}},
                {}};
    const double exact = theory::flopsPerToken(model, theory::FlopsVariant::kExact);
    for (const theory::FlopsVariant variant : kAll<theory::FlopsVariant>) {
        const double flops = theory::flopsPerToken(model, variant);
        table.rows.push_back(
            {toWord(variant), finite(flops), finite(100 * (flops / exact - 1)),
             fmt::format("{} ({})", entryOf(variant)->definition, entryOf(variant)->source)});
    }
    return table;
}

}  // namespace shardscope::questions
