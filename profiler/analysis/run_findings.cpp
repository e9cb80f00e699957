#include "profiler/analysis/run_findings.h"

#include "profiler/analysis/collective_figures.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/groups.h"

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

/// Time in which a rank's step thread was blocked, by the step and by who had not arrived yet. What
/// the communication thread alone waits for costs nothing.
struct Blocked {
    std::map<StepIndex, std::map<RankId, Duration>> byStep;
    Duration longest;
    const CollectiveEvent* worst = nullptr;
};

/// The waits of a step thread, in order of time, and where to go on in them.
Blocked blockedTime(const RankEvents& events, const std::vector<RankEvents>& ranks,
                    const HostClocks& clocks) {
    Blocked blocked;
    const Intervals waits = phaseTime(events, isWait);
    std::map<std::uint32_t, std::vector<RankId>> members;
    std::map<std::pair<StepIndex, RankId>, std::vector<TimeRange>> parts;
    for (const CollectiveEvent& collective : events.collectives) {
        if (collective.step == kNoStep) continue;
        const auto [group, fresh] = members.try_emplace(collective.group);
        if (fresh) group->second = groupMembers(ranks, collective.group);
        if (collective.arrivals.size() != group->second.size()) continue;
        const auto late = lastToArrive(collective, group->second);
        if (!late || *late == events.rank) continue;
        if (!clocks.tellsLast(collective, group->second)) continue;
        const TimeRange idle{collective.start, collective.lastArrival()};
        auto wait = std::lower_bound(
            waits.begin(), waits.end(), idle.begin,
            [](const TimeRange& range, Timestamp time) { return range.end <= time; });
        for (; wait != waits.end() && wait->begin < idle.end; ++wait) {
            const TimeRange part = wait->intersection(idle);
            parts[{collective.step, *late}].push_back(part);
            if (part.duration() <= blocked.longest) continue;
            blocked.longest = part.duration();
            blocked.worst = &collective;
        }
    }
    for (auto& [key, ranges] : parts)
        blocked.byStep[key.first][key.second] = total(unionOf(std::move(ranges)));
    return blocked;
}

/// What each rank held the others up for: the mean of those who wait, by step.
struct HeldUp {
    std::map<RankId, Duration> total;
    std::map<StepIndex, std::map<RankId, Duration>> byStep;
    Duration longest;
    TimeRange where;
};

HeldUp heldUp(const std::vector<RankEvents>& ranks, const std::set<StepIndex>& steps,
              const HostClocks& clocks) {
    HeldUp held;
    for (const RankEvents& events : ranks) {
        const Blocked blocked = blockedTime(events, ranks, clocks);
        for (const auto& [step, byRank] : blocked.byStep) {
            if (!steps.contains(step)) continue;
            for (const auto& [late, time] : byRank) {
                held.total[late] += time;
                held.byStep[step][late] += time;
            }
        }
        if (blocked.worst != nullptr && blocked.longest > held.longest) {
            held.longest = blocked.longest;
            held.where = {blocked.worst->start, blocked.worst->end};
        }
    }
    return held;
}

/// Steps in which `rank` held the others up for longer than any other rank did.
std::size_t stepsLedBy(RankId rank, const HeldUp& held) {
    std::size_t led = 0;
    for (const auto& [step, byRank] : held.byStep) {
        const auto worst =
            std::max_element(byRank.begin(), byRank.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
        led += worst->first == rank;
    }
    return led;
}

void addLateRank(const std::vector<RankEvents>& ranks, const Report& report,
                 const std::set<StepIndex>& steps, std::vector<RunFinding>& found) {
    if (ranks.size() < 2 || steps.size() < kLeastSteps) return;
    const HeldUp held = heldUp(ranks, steps, report.clocks);
    if (held.total.empty()) return;
    const auto worst =
        std::max_element(held.total.begin(), held.total.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    Duration wall;  // of the ranks that wait
    for (const LedgerRow& row : report.ledger)
        if (row.rank != worst->first && steps.contains(row.step)) wall += row.wall;
    if (wall.ns == 0) return;
    const double share = worst->second.seconds() / wall.seconds();
    const std::size_t led = stepsLedBy(worst->first, held);
    const double regular = static_cast<double>(led) / static_cast<double>(steps.size());
    if (share < kLeastBlockedShare || regular < kRegularSteps) return;
    RunFinding finding;
    finding.code = "late-rank";
    finding.severity = Severity::kWarning;
    finding.title = fmt::format("Rank {} arrives last", worst->first.value);
    finding.detail = fmt::format(
        "In {} of {} steps the others waited for it longer than for anybody else; their step "
        "threads were blocked for {:.1f} % of their time, {} in all. Longest single wait: {}.",
        led, steps.size(), 100 * share, text(worst->second), text(held.longest));
    finding.rank = worst->first;
    finding.range = held.where;
    finding.steps = {*steps.begin(), *steps.rbegin()};
    finding.denominator = "wall time of the compared steps of the ranks that wait";
    finding.evidence = {{"blocked_ns", static_cast<double>(worst->second.ns)},
                        {"share", share},
                        {"steps_led", static_cast<double>(led)},
                        {"steps", static_cast<double>(steps.size())},
                        {"longest_ns", static_cast<double>(held.longest.ns)}};
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
    addLateRank(ranks, report, steps, found);
    addSlowStep(summary, report, steps, found);
    addMemory(report, found);
    std::stable_sort(found.begin(), found.end(), [](const RunFinding& a, const RunFinding& b) {
        return a.severity > b.severity;
    });
    return found;
}

}  // namespace shardscope::analysis
