#include "profiler/analysis/rules/run_findings.h"

#include "profiler/analysis/report/lacks.h"
#include "profiler/analysis/rules/late_rank.h"
#include "profiler/analysis/rules/rule.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace shardscope::analysis {
namespace {

void add(MaybeFinding finding, std::vector<RunFinding>& found) {
    if (finding) found.push_back(std::move(*finding));
}

/// A stretch of slow steps that is a finding of another rule.
bool isTold(const RunFinding& stretch, const std::vector<RunFinding>& found) {
    return std::any_of(found.begin(), found.end(), [&](const RunFinding& other) {
        const bool explains = other.code == "slow-link" || other.code == stretch.code;
        return explains && other.steps->first <= stretch.steps->second &&
               stretch.steps->first <= other.steps->second;
    });
}

/// Of a late rank.
bool isRegular(const RunFinding& finding) {
    return std::any_of(finding.evidence.begin(), finding.evidence.end(), [](const auto& each) {
        return each.name == std::string_view("regular") && each.value > 0;
    });
}

bool comesFirst(const RunFinding& a, const RunFinding& b) {
    if (a.severity != b.severity) return a.severity > b.severity;
    return a.cost.value_or(Duration{}) > b.cost.value_or(Duration{});
}

std::vector<RunFinding> findingsOf(const RuleInput& input, std::vector<SlowStepFound>& slow) {
    std::vector<RunFinding> found;
    add(findCoresTaken(input), found);
    auto late = findLateRank(input, input.steps);
    auto stretch = findSlowStretch(input);
    // One that is late in a stretch is late now and then as well.
    if (!(late && stretch && stretch->code == late->code && stretch->rank == late->rank &&
          *stretch->steps != *late->steps && !isRegular(*late)))
        add(std::move(late), found);
    add(findSlowLink(input), found);
    if (stretch && !isTold(*stretch, found)) found.push_back(std::move(*stretch));
    add(findSlowStep(input, slow), found);
    auto collective = findLateCollective(input);
    if (!collective) add(findExposedCommunication(input), found);
    add(std::move(collective), found);
    add(findHostBound(input), found);
    add(findOutsideOperators(input), found);
    add(findDataBound(input), found);
    add(findCopies(input), found);
    add(findMemoryAboveTheory(input), found);
    add(findMemoryGrowth(input), found);
    for (RunFinding& finding : findInTraining(input)) found.push_back(std::move(finding));
    std::stable_sort(found.begin(), found.end(), comesFirst);
    return found;
}

/// What was cut off the run or its recording.
void addCuts(const RuleInput& input, std::vector<std::string>& lacks) {
    const Report& report = input.report;
    const auto& diagnostics = input.summary.diagnostics;
    if (!report.finalised)
        lacks.emplace_back(
            "what came last: the recording was not finalised, its end may be missing");
    if (report.run.status == RunStatus::kFailed || report.run.status == RunStatus::kKilled)
        lacks.push_back(
            fmt::format("what follows its last step: the run {}",
                        report.run.status == RunStatus::kFailed ? "failed" : "was killed"));
    if (std::any_of(diagnostics.begin(), diagnostics.end(),
                    [](const Diagnostic& each) { return each.code == kPartOfRecording; }))
        lacks.emplace_back("the rest of the run: this is a part of a recording");
    if (report.dropped > 0 || report.lost > 0 ||
        (report.completeness.known && !report.completeness.complete))
        lacks.emplace_back("what is missing: the recording is incomplete");
}

/// Whether ranks did anything in their steps.
bool doWork(const Report& report) {
    return std::any_of(report.ledger.begin(), report.ledger.end(), [](const LedgerRow& row) {
        const Duration idle = row.parts[at(LedgerPart::kHostBound)] +
                              row.parts[at(LedgerPart::kLaunchBound)] +
                              row.parts[at(LedgerPart::kOther)];
        return row.wall > idle;
    });
}

/// What is needed to find nothing.
std::vector<std::string> lacking(const RuleInput& input) {
    const RecordingSummary& summary = input.summary;
    const Report& report = input.report;
    const std::size_t steps = input.steps.size(), ranks = input.ranks.size();
    std::vector<std::string> lacks;
    addCuts(input, lacks);
    if (report.basis.steps == 0)
        lacks.push_back(
            withHow("slow steps and late ranks: no steps are recorded", summary, Lack::kSteps));
    else if (report.basis.detailed == 0)
        lacks.emplace_back("late ranks: no steps with phases are recorded");
    else if (report.ledger.empty())
        lacks.push_back(
            withHow("slow steps and late ranks: neither phases nor kernels are recorded", summary,
                    Lack::kPhases));
    else if (!doWork(report))
        lacks.emplace_back("slow steps and late ranks: no work of any rank lies within its steps");
    else if (steps < kLeastSteps)
        lacks.push_back(
            fmt::format("slow steps and late ranks: there {} {} steady step{}, and {} are needed",
                        steps == 1 ? "is" : "are", steps, steps == 1 ? "" : "s", kLeastSteps));
    if (summary.run.worldSize > static_cast<std::int64_t>(ranks))
        lacks.push_back(
            fmt::format("late ranks: {} of {} ranks are recorded", ranks, summary.run.worldSize));
    else if (!report.waitingKnown)
        lacks.emplace_back("late ranks: it is not recorded when ranks arrived at collectives");
    return lacks;
}

Judged judgedBy(const RuleInput& input) {
    Judged judged;
    judged.unknown = lacking(input);
    judged.enough = judged.unknown.empty();
    // Without these the rest can be judged still.
    const auto& metrics = input.summary.metrics;
    if (std::none_of(metrics.begin(), metrics.end(),
                     [](const MetricPoint& each) { return each.name == "loss"; }))
        judged.unknown.push_back(
            withHow("loss and gradients: none are recorded", input.summary, Lack::kLoss));
    if (std::none_of(input.ranks.begin(), input.ranks.end(),
                     [](const RankEvents& each) { return each.hasMemoryEvents; }))
        judged.unknown.push_back(
            withHow("memory: no memory events are recorded", input.summary, Lack::kMemory));
    if (const std::string why = whyNoOperatorTime(input); !why.empty())
        judged.unknown.push_back("time outside of operators: " + why);
    return judged;
}

}  // namespace

RunFindings runFindings(const RuleInput& input) {
    RunFindings findings;
    findings.found = findingsOf(input, findings.slowSteps);
    findings.judged = judgedBy(input);
    return findings;
}

}  // namespace shardscope::analysis
