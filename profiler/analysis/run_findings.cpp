#include "profiler/analysis/run_findings.h"

#include "profiler/analysis/findings.h"
#include "profiler/analysis/late_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace shardscope::analysis {
namespace {

std::string text(Duration duration) {
    return duration.seconds() < 1 ? fmt::format("{:.1f} ms", duration.seconds() * 1e3)
                                  : fmt::format("{:.2f} s", duration.seconds());
}

std::string text(Bytes bytes) {
    return fmt::format("{:.2f} MiB", static_cast<double>(bytes.count) / (1 << 20));
}

/// Steps that are compared with each other: without warm-up and validation.
std::set<StepIndex> comparedSteps(const Report& report) {
    std::set<StepIndex> steps, evaluated;
    for (const LedgerRow& row : report.ledger) {
        steps.insert(row.step);
        if (row.parts[at(LedgerPart::kEvaluation)].ns > 0) evaluated.insert(row.step);
    }
    const auto warmup = std::min(static_cast<std::size_t>(report.warmupStepsLeftOut), steps.size());
    steps.erase(steps.begin(), std::next(steps.begin(), static_cast<std::ptrdiff_t>(warmup)));
    for (const StepIndex step : evaluated) steps.erase(step);
    return steps;
}

std::string whyText(const LateCause& cause) {
    if (cause.reason == LateReason::kUnknown) return " Why is not known.";
    return fmt::format(" Why: {} ({} more than the others). {} What to try: {}.",
                       toWord(cause.reason), text(cause.excess), definition(cause.reason),
                       remedy(cause.reason));
}

void addLateRank(const RecordingSummary& summary, const std::vector<RankEvents>& ranks,
                 const Report& report, const std::set<StepIndex>& steps,
                 std::vector<RunFinding>& found) {
    const std::vector<LateRank> held = heldUpBy(ranks, report.ledger, steps, report.clocks);
    if (held.empty() || !held.front().isNamed()) return;
    const LateRank& late = held.front();
    const LateCause cause = whyLate(late, summary, report.ledger, steps);
    RunFinding finding;
    finding.code = "late-rank";
    finding.severity = Severity::kWarning;
    finding.title = fmt::format("Rank {} arrives last", late.rank.value);
    finding.detail =
        fmt::format(
            "In {} of {} steps the others waited for it longer than for anybody else; their step "
            "threads were blocked for {:.1f} % of their time, {} in all. Longest single wait: {}.",
            late.stepsLed, late.steps, 100 * late.share(), text(late.blocked), text(late.longest)) +
        whyText(cause);
    finding.rank = late.rank;
    finding.range = late.where;
    finding.steps = {*steps.begin(), *steps.rbegin()};
    finding.denominator = "wall time of the compared steps of the ranks that wait";
    finding.evidence = {{"blocked_ns", static_cast<double>(late.blocked.ns)},
                        {"share", late.share()},
                        {"steps_led", static_cast<double>(late.stepsLed)},
                        {"steps", static_cast<double>(late.steps)},
                        {"longest_ns", static_cast<double>(late.longest.ns)},
                        {"explained", late.explained()},
                        {"excess_ns", static_cast<double>(cause.excess.ns)}};
    found.push_back(std::move(finding));
}

/// The part of a step that grew most against its median.
std::size_t grownPart(const LedgerRow& row, const LedgerParts& typical) {
    std::size_t grown = 0;
    for (std::size_t i = 1; i < typical.size(); ++i)
        if (row.parts[i] - typical[i] > row.parts[grown] - typical[grown]) grown = i;
    return grown;
}

/// How long the compared steps took, each on the rank that took longest.
struct StepWalls {
    std::map<StepIndex, const LedgerRow*> longest;
    std::int64_t median = 0;
    double spread = 0;  ///< 1.4826 x the median absolute deviation
    [[nodiscard]] const LedgerRow& slowest() const {
        return *std::max_element(longest.begin(), longest.end(), [](const auto& a, const auto& b) {
                    return a.second->wall < b.second->wall;
                })->second;
    }
};

StepWalls stepWalls(const Report& report, const std::set<StepIndex>& steps) {
    StepWalls walls;
    for (const LedgerRow& row : report.ledger) {
        if (!steps.contains(row.step)) continue;
        const LedgerRow*& kept = walls.longest[row.step];
        if (kept == nullptr || row.wall > kept->wall) kept = &row;
    }
    if (walls.longest.empty()) return walls;
    std::vector<std::int64_t> all, deviations;
    for (const auto& [step, row] : walls.longest) all.push_back(row->wall.ns);
    walls.median = medianOf(all);
    for (const std::int64_t wall : all) deviations.push_back(std::abs(wall - walls.median));
    walls.spread = 1.4826 * static_cast<double>(medianOf(deviations));
    return walls;
}

void addSlowStep(const RecordingSummary& summary, const Report& report,
                 const std::set<StepIndex>& steps, std::vector<RunFinding>& found) {
    const StepWalls walls = stepWalls(report, steps);
    if (walls.longest.size() < kLeastStepsForSpread) return;
    const LedgerRow& row = walls.slowest();
    const auto wall = static_cast<double>(row.wall.ns), median = static_cast<double>(walls.median);
    if (wall / median < kSlowStep || wall < median + kSlowStepSpreads * walls.spread) return;
    const auto typical = medianParts(report.ledger, row.rank);
    const std::size_t grown = grownPart(row, typical);
    RunFinding finding;
    finding.code = "slow-step";
    finding.severity = Severity::kWarning;
    finding.title = fmt::format("Step {} took {:.1f} x the median", row.step.value, wall / median);
    finding.detail = fmt::format(
        "{} instead of {}; most of it in {} of rank {} ({} instead of {}). Warm-up and steps with "
        "evaluation are not compared.",
        text(row.wall), text(Duration{walls.median}), toWord(static_cast<LedgerPart>(grown)),
        row.rank.value, text(row.parts[grown]), text(typical[grown]));
    finding.rank = row.rank;
    finding.steps = {row.step, row.step};
    for (const StepFacts& facts : summary.steps)
        if (facts.step == row.step && facts.rank == row.rank) finding.range = facts.range();
    finding.denominator = "median wall time of the compared steps";
    finding.evidence = {{"wall_ns", wall},
                        {"median_ns", median},
                        {"spread_ns", walls.spread},
                        {"steps", static_cast<double>(walls.longest.size())}};
    found.push_back(std::move(finding));
}

void addMemory(const Report& report, std::vector<RunFinding>& found) {
    const RankMemory* worst = nullptr;
    double most = 0;
    for (const RankMemory& memory : report.memory) {
        if (!memory.known || memory.theory.count == 0) continue;
        const double above =
            static_cast<double>(memory.managed().count) / static_cast<double>(memory.theory.count) -
            1;
        if (above <= most) continue;
        most = above;
        worst = &memory;
    }
    if (worst == nullptr || most < kMemoryNote) return;
    RunFinding finding;
    finding.code = kMemoryAboveTheory;
    finding.severity = most > kMemoryWarning ? Severity::kWarning : Severity::kNote;
    finding.title =
        fmt::format("Memory of rank {} is {:.1f} % above theory", worst->rank.value, 100 * most);
    finding.detail =
        fmt::format("{} at the peak, {} by theory.", text(worst->managed()), text(worst->theory));
    finding.rank = worst->rank;
    finding.denominator = "peak by theory of what the allocator holds";
    finding.evidence = {{"peak_bytes", static_cast<double>(worst->managed().count)},
                        {"theory_bytes", static_cast<double>(worst->theory.count)}};
    found.push_back(std::move(finding));
}

}  // namespace

std::vector<RunFinding> runFindings(const RecordingSummary& summary,
                                    const std::vector<RankEvents>& ranks, const Report& report) {
    std::vector<RunFinding> found;
    const std::set<StepIndex> steps = comparedSteps(report);
    addLateRank(summary, ranks, report, steps, found);
    addSlowStep(summary, report, steps, found);
    addMemory(report, found);
    std::stable_sort(found.begin(), found.end(), [](const RunFinding& a, const RunFinding& b) {
        return a.severity > b.severity;
    });
    return found;
}

}  // namespace shardscope::analysis
