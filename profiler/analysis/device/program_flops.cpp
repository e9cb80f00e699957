#include "profiler/analysis/device/program_flops.h"

#include "engine/run/config/program_run.h"
#include "engine/run/theory/model_theory.h"
#include "profiler/analysis/report/lacks.h"
#include "storage/model/detail.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace shardscope::analysis {
namespace {

constexpr std::size_t kMostSteps = 20, kLeastSteps = 3;
constexpr std::size_t kMostRankSteps = 400;  ///< of all ranks together

/// How the library in the program calls the type of the numbers that it trains with.
constexpr const char* kTypeFact = "dtype";

struct StepSum {
    double needed = 0, executed = 0;
    std::int32_t ranks = 0;
    std::int64_t operators = 0, unknown = 0;
    bool compiled = false;

    void add(const StepFlops& each) {
        needed += each.needed();
        executed += each.executed();
        ++ranks;
        operators += each.operators;
        unknown += each.unknown;
        compiled = compiled || each.compiled;
        whole = whole && each.isWhole();
    }
    bool whole = true;  ///< of every rank
};

std::map<StepIndex, StepSum> sumsOf(const CountedSteps& counted) {
    std::map<StepIndex, StepSum> sums;
    for (const StepFlops& each : counted.flops) sums[each.step].add(each);
    return sums;
}

ProductType mostOf(const CountedSteps& counted) {
    std::array<double, kAll<ProductType>.size()> byType{};
    for (const StepFlops& each : counted.flops)
        for (std::size_t i = 0; i < byType.size(); ++i) byType[i] += each.byType[i];
    const auto most = std::max_element(byType.begin(), byType.end());
    return *most > 0 ? static_cast<ProductType>(most - byType.begin()) : ProductType::kUnknown;
}

std::optional<FlopRate> ofOperators(const std::vector<StepUse>& known,
                                    const CountedSteps& counted) {
    std::vector<double> steps, rates, executed;
    for (const StepUse& use : known) {
        steps.push_back(*use.needed);
        rates.push_back(*use.needed / use.seconds);
        executed.push_back(*use.executed / use.seconds);
    }
    if (rates.empty()) return std::nullopt;
    return FlopRate{kOperatorsVariant, medianOf(std::move(rates)), medianOf(std::move(steps)),
                    medianOf(std::move(executed)), mostOf(counted)};
}

std::string whyNotWhole(const StepSum& sum) {
    if (sum.compiled)
        return "parts of the model are compiled (torch.compile), and operators within a compiled "
               "graph are not seen";
    if (sum.operators == 0 && sum.unknown == 0)
        return "no matrix product, attention or convolution is among the operators";
    if (sum.unknown == 0) return "a rank has no operator that multiplies";
    return fmt::format(
        "{} operators that multiply do not say their shapes, or are of a kind that is not counted",
        countText(sum.unknown));
}

std::string whyNoOperators(const RecordingSummary& summary, const CountedSteps& counted) {
    if (summary.steps.empty()) return "no steps are recorded";
    if (counted.flops.empty())
        return "operators of the steady steps are not recorded: --capture full records them";
    StepSum all;
    for (const StepFlops& each : counted.flops) all.add(each);
    return whyNotWhole(all);
}

CaptureLevel levelOf(const RecordingSummary& summary) {
    const auto program = run::parseProgramJson(summary.run.configJson);
    return program ? program->capture : CaptureLevel::kFull;
}

/// Of a step none of whose operators were read.
std::string whyNotRead(const RecordingSummary& summary, const StepDetail& detail, StepIndex step) {
    CaptureLevel level = levelOf(summary);
    for (const RankFacts& rank : summary.ranks) level = std::min(level, detail.of(rank.rank, step));
    if (level >= CaptureLevel::kFull) return "it was not looked at";
    return fmt::format("it was recorded at {}, and --capture full records operators",
                       toWord(level));
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

std::vector<StepUse> usesOfSteps(const RecordingSummary& summary, const SteadySteps& steady,
                                 const CountedSteps& counted) {
    const auto sums = sumsOf(counted);
    const StepDetail detail(summary.detail);
    std::vector<StepUse> uses;
    for (const auto& [index, step] : steady.steps) {
        StepUse& use = uses.emplace_back();
        use.step = index;
        use.seconds = step.range.duration().seconds();
        const auto sum = sums.find(index);
        if (sum == sums.end()) {
            use.why = whyNotRead(summary, detail, index);
        } else if (!sum->second.whole) {
            use.why = whyNotWhole(sum->second);
        } else if (sum->second.ranks < step.ranks || use.seconds <= 0) {
            use.why =
                fmt::format("operators of {} of {} ranks are here", sum->second.ranks, step.ranks);
        } else {
            use.needed = sum->second.needed;
            use.executed = sum->second.executed;
        }
    }
    return uses;
}

std::vector<StepIndex> stepsToCount(const RecordingSummary& summary, const SteadySteps& steady,
                                    CountWhich which) {
    if (sourceOf(summary.run) == RecordingSource::kOwnRun || summary.ranks.empty()) return {};
    if (levelOf(summary) < CaptureLevel::kFull) return {};
    const StepDetail detail(summary.detail);
    std::vector<StepIndex> able;
    for (const auto& [step, whole] : steady.steps)
        if (std::all_of(summary.ranks.begin(), summary.ranks.end(), [&](const RankFacts& rank) {
                return detail.of(rank.rank, step) == CaptureLevel::kFull;
            }))
            able.push_back(step);
    const std::size_t most =
        std::clamp(kMostRankSteps / summary.ranks.size(), kLeastSteps, kMostSteps);
    if (which == CountWhich::kAll || able.size() <= most) return able;
    std::vector<StepIndex> spread;
    for (std::size_t i = 0; i < most; ++i) spread.push_back(able[i * able.size() / most]);
    return spread;
}

ProgramRates programRates(const RecordingSummary& summary, const SteadySteps& steady,
                          const Throughput& throughput, const CountedSteps& counted) {
    ProgramRates found;
    found.steps = usesOfSteps(summary, steady, counted);
    std::erase_if(found.steps, [](const StepUse& each) { return !each.needed; });
    if (auto rate = ofOperators(found.steps, counted))
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
    if (hasNoRank(summary.run, summary.processes)) {
        mfu.reason = howToGet(summary, Lack::kOperators);
        return mfu;
    }
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
    if (rate.variant == std::string_view(kOperatorsVariant))
        for (const StepUse& use : rates.steps)
            mfu.steps.push_back({use.step, *use.needed / use.seconds / *mfu.peakFlops,
                                 *use.executed / use.seconds / *mfu.peakFlops});
    return mfu;
}

}  // namespace shardscope::analysis
