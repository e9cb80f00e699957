#include "profiler/analysis/findings.h"
#include "profiler/analysis/report/lacks.h"
#include "profiler/analysis/rules/late_rank.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/questions.h"
#include "profiler/questions/read_device.h"
#include "profiler/questions/read_surroundings.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::questions {
namespace {

using analysis::LateCause;
using analysis::LateRank;
using analysis::LateReason;

/// What is looked at, as in a report: steady steps that have detail.
struct Basis {
    std::vector<analysis::LedgerRow> ledger;
    std::set<StepIndex> steps;
};

Result<Basis> basisOf(const Asked& asked, const RecordingSummary& detailed,
                      const std::vector<RankEvents>& ranks) {
    const auto ofDevices = deviceRows(asked.reader, detailed, ranks);
    if (!ofDevices) return failure(ofDevices);
    Basis basis;
    for (const RankEvents& events : ranks)
        for (const analysis::LedgerRow& row : analysis::rankLedger(detailed, events, *ofDevices))
            basis.ledger.push_back(row);
    std::set<StepIndex> steady;
    for (const auto& [step, whole] : analysis::steadySteps(asked.summary, ranks).steps)
        steady.insert(step);
    basis.steps = analysis::comparedSteps(basis.ledger, steady);
    return basis;
}

Table heldUpTable(const std::vector<LateRank>& held) {
    Table table{
        "ranks",
        "Who held the others up",
        {{"rank", "rank"},
         {"blocked_ns", "held up", Unit::kNanoseconds,
          "For how long the step threads of all other ranks together were blocked before it "
          "arrived, in steady steps."},
         {"share_pct", "of their time", Unit::kPercent,
          "Of the wall time of the other ranks in these steps."},
         {"explained_pct", "of all waits", Unit::kPercent,
          "Share of the time that all ranks together were held up."},
         {"steps_led", "steps", Unit::kCount,
          "In which it held the others up longer than any other rank did."},
         {"steps_pct", "of steps", Unit::kPercent, "Of the steps analysed."},
         {"longest_ns", "longest", Unit::kNanoseconds, "Single wait for it."}},
        {}};
    for (const LateRank& late : held)
        table.rows.push_back({std::int64_t{late.rank.value}, late.blocked.ns, percent(late.share()),
                              percent(late.explained()), static_cast<std::int64_t>(late.stepsLed),
                              percent(late.regular()), late.longest.ns});
    return table;
}

void tellReason(const LateRank& late, const LateCause& cause, Answer& answer) {
    answer.sentences.push_back(
        fmt::format("Rank {} is late{}. {} It accounts for {:.0f} % of all waits.", late.rank.value,
                    late.isRegular() ? "" : " now and then", analysis::lateSentence(late),
                    100 * late.explained()));
    answer.figures.push_back({{"late_rank", "late rank"}, Cell(std::int64_t{late.rank.value})});
    answer.figures.push_back(
        {{"reason", "reason", Unit::kNone, "What its steps spend more on than the others'."},
         toWord(cause.reason)});
    answer.figures.push_back(
        {{"lateness_ns", "lateness", Unit::kNanoseconds,
          "What it held up the others for, mean of the other ranks, all steps together."},
         late.lateness().ns});
    answer.figures.push_back(
        {{"cost_ns", "cost of all ranks together", Unit::kNanoseconds,
          "As in `report`: what it held up the others for, together, and its own lateness."},
         late.cost().ns});
    if (cause.reason == LateReason::kUnknown) {
        answer.unknown.emplace_back(
            "why it is late is unknown: no kind of its time exceeds that of the others by half "
            "of its delay");
        return;
    }
    answer.sentences.push_back(fmt::format("Why: {}. {} What to try: {}.", toWord(cause.reason),
                                           definition(cause.reason), remedy(cause.reason)));
    answer.figures.push_back({{"excess_ns", "excess", Unit::kNanoseconds,
                               "Of that kind of time over the median of the others, all steps "
                               "together."},
                              cause.excess.ns});
}

/// What is missing for an answer; empty: nothing.
std::string missing(const Asked& asked, const std::vector<RankEvents>& ranks, const Basis& basis) {
    if (asked.summary.run.worldSize > 1 && ranks.size() < 2)
        return "the other ranks are not recorded or not selected";
    if (basis.ledger.empty())
        return analysis::withHow("no phases were recorded", asked.summary, analysis::Lack::kPhases);
    if (basis.steps.size() < analysis::kLeastSteps)
        return fmt::format("{} steady steps, and {} are needed", basis.steps.size(),
                           analysis::kLeastSteps);
    return {};
}

}  // namespace

Result<Answer> askLate(const Asked& asked) {
    const auto ranks = asked.events();
    if (!ranks) return failure(ranks);
    Answer answer;
    if (analysis::hasNoRank(asked.summary.run, asked.summary.processes)) {
        answer.unknown.push_back("who is slow is unknown: " +
                                 analysis::howToGet(asked.summary, analysis::Lack::kPhases));
        return answer;
    }
    if (asked.summary.run.worldSize == 1 && ranks->size() == 1) {
        answer.sentences.emplace_back("One rank has no other rank to wait for.");
        return answer;
    }
    const analysis::DetailedPart part = asked.detailed(answer);
    const auto basis = basisOf(asked, part.summary ? *part.summary : asked.summary, *ranks);
    if (!basis) return failure(basis);
    if (const std::string lacks = missing(asked, *ranks, *basis); !lacks.empty()) {
        answer.unknown.push_back("who is slow is unknown: " + lacks);
        return answer;
    }
    const analysis::HostClocks hosts(asked.summary, *ranks);
    const auto held = analysis::heldUpBy(*ranks, basis->ledger, basis->steps, hosts);
    if (!held.empty() && held.front().isNamed()) {
        const auto around = surroundings(asked.reader, asked.summary, asked.selection);
        if (!around) return failure(around);
        tellReason(
            held.front(),
            analysis::whyLate(held.front(), asked.summary, basis->ledger, basis->steps, *around),
            answer);
    } else {
        answer.sentences.emplace_back("No rank is late by itself.");
        if (!held.empty() && held.front().share() >= analysis::kLeastBlockedShare)
            answer.sentences.push_back(fmt::format(
                "Ranks wait for each other. Most of it is for rank {}: {:.1f} % of the others' "
                "time, {:.0f} % of all waits. It is a tie, or they take turns.",
                held.front().rank.value, 100 * held.front().share(),
                100 * held.front().explained()));
    }
    if (!held.empty()) answer.tables.push_back(heldUpTable(held));
    return answer;
}

}  // namespace shardscope::questions
