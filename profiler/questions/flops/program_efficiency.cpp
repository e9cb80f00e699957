#include "profiler/questions/flops/program_efficiency.h"

#include "profiler/analysis/device/program_flops.h"
#include "profiler/analysis/part.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/flops/read_flops.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace shardscope::questions {
namespace {

using analysis::CountedSteps;
using analysis::FlopRate;
using analysis::StepFlops;

Cell ofPeak(std::optional<double> perSecond, const analysis::Mfu& mfu) {
    return perSecond && mfu.value && mfu.peakFlops ? Cell(100 * *perSecond / *mfu.peakFlops)
                                                   : Cell();
}

/// As of our own runs, whose steps have no FLOPs of their own and tokens do.
Table rateTable(const std::vector<FlopRate>& rates, const analysis::Throughput& throughput,
                const analysis::Mfu& mfu) {
    Table table{
        "variants",
        "MFU by every way to count",
        {{"variant", "variant", Unit::kNone,
          "operators: matrix products, attention and convolutions of the steps by their recorded "
          "shapes. 6N: 6 FLOPs a parameter and token."},
         {"flops_per_token", "FLOPs/token", Unit::kFlop, "Forward and backward."},
         {"flops_per_step", "FLOPs/step", Unit::kFlop, "Of all ranks together, median."},
         {"flops_per_s", "FLOP/s", Unit::kFlops, "Of all ranks together, median."},
         {"mfu_pct", "MFU", Unit::kOfPeak, "FLOP/s / the peak of all ranks."}},
        {}};
    for (const FlopRate& each : rates)
        table.rows.push_back({each.variant,
                              throughput.tokensPerSecond
                                  ? Cell(each.perSecond / *throughput.tokensPerSecond)
                                  : Cell(),
                              cell(each.perStep), each.perSecond, ofPeak(each.perSecond, mfu)});
    return table;
}

struct RankSum {
    std::int64_t steps = 0, operators = 0, unknown = 0;
    std::vector<double> forward, backward, again, other;  ///< of each step
};

Table rankTable(const CountedSteps& counted) {
    Table table{
        "step_flops",
        "FLOPs of a step by rank",
        {{"rank", "rank"},
         {"steps", "steps", Unit::kCount, "Steady steps whose operators were looked at."},
         {"operators", "operators", Unit::kCount, "That count, in all of these steps."},
         {"forward_flops", "forward", Unit::kFlop, "FLOPs of a step, median over these steps."},
         {"backward_flops", "backward", Unit::kFlop, "FLOPs of a step, median over these steps."},
         {"again_flops", "computed again", Unit::kFlop,
          "Of backward, what forward had computed: checkpointed blocks, attention's scores. In HFU "
          "and not in MFU.",
          Shown::kWhereAny},
         {"other_flops", "outside", Unit::kFlop,
          "In the optimizer or while data is loaded: in neither.", Shown::kWhereAny},
         {"unknown_operators", "not counted", Unit::kCount,
          "Operators that multiply and whose FLOPs are not known.", Shown::kWhereAny}},
        {}};
    std::map<RankId, RankSum> sums;
    for (const StepFlops& each : counted.flops) {
        RankSum& sum = sums[each.rank];
        ++sum.steps;
        sum.operators += each.operators;
        sum.unknown += each.unknown;
        sum.forward.push_back(each.forward);
        sum.backward.push_back(each.backward);
        sum.again.push_back(each.again);
        sum.other.push_back(each.other);
    }
    for (auto& [rank, sum] : sums)
        table.rows.push_back({std::int64_t{rank.value}, sum.steps, sum.operators,
                              analysis::medianOf(std::move(sum.forward)),
                              analysis::medianOf(std::move(sum.backward)),
                              analysis::medianOf(std::move(sum.again)),
                              analysis::medianOf(std::move(sum.other)), sum.unknown});
    return table;
}

Table stepTable() {
    return {"mfu_by_step",
            "MFU by step, by operators",
            {{"step", "step"},
             {"time_ns", "time", Unit::kNanoseconds,
              "From the first rank's beginning to the last one's end."},
             {"flops", "FLOPs", Unit::kFlop, "Needed by forward and backward of all ranks."},
             {"flops_per_s", "FLOP/s", Unit::kFlops, "The same / time."},
             {"mfu_pct", "MFU", Unit::kOfPeak, "FLOP/s / the peak of all ranks."},
             {"hfu_pct", "HFU", Unit::kOfPeak,
              "As MFU, with what is computed again in the backward pass."},
             {"outside_pct", "outside of operators", Unit::kPercent,
              "Of the ranks' time: no operator of any thread runs, and it is no wait, data loading "
              "or collective."},
             {"why", "unknown because", Unit::kNone, "Why FLOPs of the step are unknown.",
              Shown::kWhereAny}},
            {}};
}

std::map<StepIndex, analysis::OperatorTime> timesByStep(const CountedSteps& counted) {
    std::map<StepIndex, analysis::OperatorTime> times;
    for (const analysis::OperatorTime& each : counted.times) times[each.step] += each;
    return times;
}

Cell perSecond(std::optional<double> flops, double seconds) {
    return flops ? Cell(*flops / seconds) : Cell();
}

Cell ofPeak(std::optional<double> flops, double seconds, const analysis::Mfu& mfu) {
    return flops ? ofPeak(*flops / seconds, mfu) : Cell();
}

/// Warm-up and all else: each says for itself what it is.
Result<void> addSteps(const Asked& asked, const analysis::Mfu& mfu, Answer& answer) {
    RecordingSummary all = asked.summary;
    analysis::keepAllSteps(all);
    const analysis::SteadySteps steps = analysis::steadySteps(all, {});
    const auto counted = readFlops(asked.reader, all, steps, analysis::CountWhich::kAll);
    if (!counted) return failure(counted);
    const auto times = timesByStep(*counted);
    Table table = stepTable();
    for (const analysis::StepUse& use : analysis::usesOfSteps(all, steps, *counted)) {
        const auto time = times.find(use.step);
        table.rows.push_back(
            {std::int64_t{use.step.value}, std::int64_t{std::llround(use.seconds * 1e9)},
             cell(use.needed), perSecond(use.needed, use.seconds),
             ofPeak(use.needed, use.seconds, mfu), ofPeak(use.executed, use.seconds, mfu),
             time == times.end() ? Cell() : Cell(100 * time->second.share()),
             use.why.empty() ? Cell() : Cell(use.why)});
    }
    if (!table.rows.empty()) answer.tables.push_back(std::move(table));
    return {};
}

/// Of the way that is used, which is named with it.
void addFigures(const analysis::ProgramRates& rates, const analysis::Mfu& mfu, Answer& answer) {
    const bool ofOperators = mfu.variant == analysis::kOperatorsVariant;
    answer.figures.push_back(
        {{"mfu_pct", ofOperators ? "MFU (operators)" : "MFU (6N)", Unit::kOfPeak,
          "FLOPs that forward and backward need / time / peak of all ranks."},
         percent(mfu.value)});
    answer.figures.push_back({{"hfu_pct", "HFU", Unit::kOfPeak,
                               "As MFU, with what is computed again in the backward pass."},
                              percent(mfu.hardware)});
    if (mfu.flopsPerSecond)
        answer.figures.push_back(
            {{"flops_per_s", ofOperators ? "FLOP/s (operators)" : "FLOP/s (6N)", Unit::kFlops,
              "Of all ranks together, median over steps."},
             *mfu.flopsPerSecond});
    if (!mfu.value) answer.unknown.push_back("MFU unknown: " + mfu.reason);
    if (mfu.flopsPerSecond)
        for (const std::string& each : rates.missing)
            answer.unknown.push_back("FLOPs by another way unknown: " + each);
}

}  // namespace

Result<void> addProgramRates(const Asked& asked, const std::vector<RankEvents>& ranks,
                             const analysis::Throughput& throughput, Answer& answer) {
    const analysis::SteadySteps steady = analysis::steadySteps(asked.summary, ranks);
    const auto counted = readFlops(asked.reader, asked.summary, steady);
    if (!counted) return failure(counted);
    const auto rates = analysis::programRates(asked.summary, steady, throughput, *counted);
    const analysis::Mfu mfu = analysis::programUtilisation(asked.summary, rates);
    addFigures(rates, mfu, answer);
    if (mfu.peakFlops)
        answer.sentences.push_back(fmt::format(
            "Peak of all ranks: {} ({}).",
            quantityText(*mfu.peakFlops, Unit::kFlops, Digits::kScreen).joined(), mfu.peakSource));
    if (!rates.rates.empty()) answer.tables.push_back(rateTable(rates.rates, throughput, mfu));
    const bool any =
        std::any_of(counted->flops.begin(), counted->flops.end(),
                    [](const StepFlops& each) { return each.operators > 0 || each.unknown > 0; });
    if (any) answer.tables.push_back(rankTable(*counted));
    return asked.perStep ? addSteps(asked, mfu, answer) : Result<void>{};
}

}  // namespace shardscope::questions
