#include "profiler/analysis/device/program_flops.h"

#include "engine/run/config/program_run.h"
#include "storage/model/detail.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

namespace shardscope::analysis {
namespace {

constexpr std::size_t kMostSteps = 20, kLeastSteps = 3;
constexpr std::size_t kMostRankSteps = 400;  ///< of all ranks together

/// How the library in the program calls the type of the numbers that it trains with.
constexpr const char* kTypeFact = "dtype";

struct StepSum {
    double needed = 0, executed = 0;
    std::size_t ranks = 0;
    bool whole = true;
};

std::map<StepIndex, StepSum> sumsOf(const CountedSteps& counted) {
    std::map<StepIndex, StepSum> sums;
    for (const StepFlops& each : counted.flops) {
        StepSum& sum = sums[each.step];
        sum.needed += each.needed();
        sum.executed += each.executed();
        sum.whole = sum.whole && each.isWhole();
        ++sum.ranks;
    }
    return sums;
}

ProductType mostOf(const CountedSteps& counted) {
    std::array<double, kAll<ProductType>.size()> byType{};
    for (const StepFlops& each : counted.flops)
        for (std::size_t i = 0; i < byType.size(); ++i) byType[i] += each.byType[i];
    const auto most = std::max_element(byType.begin(), byType.end());
    return *most > 0 ? static_cast<ProductType>(most - byType.begin()) : ProductType::kUnknown;
}

std::optional<FlopRate> ofOperators(const SteadySteps& steady, const CountedSteps& counted) {
    std::vector<double> steps, rates, executed;
    for (const auto& [index, sum] : sumsOf(counted)) {
        const auto step = steady.steps.find(index);
        if (step == steady.steps.end() || !sum.whole) continue;
        const double seconds = step->second.range.duration().seconds();
        if (static_cast<std::int32_t>(sum.ranks) < step->second.ranks || seconds <= 0) continue;
        steps.push_back(sum.needed);
        rates.push_back(sum.needed / seconds);
        executed.push_back(sum.executed / seconds);
    }
    if (rates.empty()) return std::nullopt;
    return FlopRate{kOperatorsVariant, medianOf(std::move(rates)), medianOf(std::move(steps)),
                    medianOf(std::move(executed)), mostOf(counted)};
}

std::string whyNoOperators(const RecordingSummary& summary, const CountedSteps& counted) {
    std::int64_t unknown = 0, operators = 0;
    bool compiled = false;
    for (const StepFlops& each : counted.flops) {
        unknown += each.unknown;
        operators += each.operators;
        compiled = compiled || each.compiled;
    }
    if (summary.steps.empty()) return "no steps are recorded";
    if (counted.flops.empty())
        return "operators of the steady steps are not recorded: --capture full records them";
    if (compiled)
        return "parts of the model are compiled (torch.compile), and operators within a compiled "
               "graph are not seen";
    if (operators == 0 && unknown == 0)
        return "no matrix product, attention or convolution is among the operators";
    return fmt::format(
        "{} operators that multiply do not say their shapes, or are of a kind that is not counted",
        countText(unknown));
}

std::string whyNoTokens(const RecordingSummary& summary) {
    const char* needed = summary.run.parameters > 0 ? "number" : "number of parameters and";
    return fmt::format(
        "6 N x tokens takes the {} of tokens, which shardscope.model(model, tokens_per_step=...) "
        "in "
        "the script says",
        needed);
}

/// Of a run of several ranks, as long as all of them say it.
std::string typeFact(const RecordingSummary& summary) {
    for (const FactRow& row : summary.facts)
        if (row.name == kTypeFact) return row.value;
    return {};
}

}  // namespace

std::vector<StepIndex> stepsToCount(const RecordingSummary& summary, const SteadySteps& steady) {
    if (sourceOf(summary.run) == RecordingSource::kOwnRun || summary.ranks.empty()) return {};
    const auto program = run::parseProgramJson(summary.run.configJson);
    if (program && program->capture < CaptureLevel::kFull) return {};
    const StepDetail detail(summary.detail);
    std::vector<StepIndex> able;
    for (const auto& [step, whole] : steady.steps)
        if (std::all_of(summary.ranks.begin(), summary.ranks.end(), [&](const RankFacts& rank) {
                return detail.of(rank.rank, step) == CaptureLevel::kFull;
            }))
            able.push_back(step);
    const std::size_t most =
        std::clamp(kMostRankSteps / summary.ranks.size(), kLeastSteps, kMostSteps);
    if (able.size() <= most) return able;
    std::vector<StepIndex> spread;
    for (std::size_t i = 0; i < most; ++i) spread.push_back(able[i * able.size() / most]);
    return spread;
}

ProgramRates programRates(const RecordingSummary& summary, const SteadySteps& steady,
                          const Throughput& throughput, const CountedSteps& counted) {
    ProgramRates found;
    if (auto rate = ofOperators(steady, counted))
        found.rates.push_back(*rate);
    else
        found.missing.push_back(whyNoOperators(summary, counted));
    if (throughput.tokensPerSecond && summary.run.parameters > 0)
        found.rates.push_back(
            {toWord(theory::FlopsVariant::kSixN),
             6.0 * static_cast<double>(summary.run.parameters) * *throughput.tokensPerSecond,
             std::nullopt, std::nullopt, ProductType::kUnknown});
    else
        found.missing.push_back(whyNoTokens(summary));
    return found;
}

Mfu programUtilisation(const RecordingSummary& summary, const ProgramRates& rates) {
    Mfu mfu = peakOfRanks(summary);
    mfu.variant.clear();
    if (rates.rates.empty()) {
        mfu.reason = fmt::format("FLOPs are not known: {}", fmt::join(rates.missing, "; "));
        return mfu;
    }
    const FlopRate& rate = rates.rates.front();
    mfu.variant = rate.variant;
    mfu.flopsPerSecond = rate.perSecond;
    mfu.flopsPerStep = rate.perStep;
    if (!mfu.peakFlops || *mfu.peakFlops <= 0) {
        if (mfu.reason.empty()) mfu.reason = "the reported peak is zero";
        return mfu;
    }
    const std::string peakType = typeFact(summary);
    const bool known = rate.type != ProductType::kUnknown && !peakType.empty();
    if (known && peakType != toWord(rate.type)) {
        mfu.reason =
            fmt::format("most products are {}, and the peak is of {}", toWord(rate.type), peakType);
        return mfu;
    }
    mfu.value = rate.perSecond / *mfu.peakFlops;
    if (rate.executed) mfu.hardware = *rate.executed / *mfu.peakFlops;
    return mfu;
}

}  // namespace shardscope::analysis
