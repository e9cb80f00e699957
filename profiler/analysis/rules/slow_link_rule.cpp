#include "profiler/analysis/communication/transfers.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/rules/rule.h"
#include "storage/model/quantity_text.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace shardscope::analysis {
namespace {

Duration movingOf(const LedgerRow& row) {
    return blockedIn(row.parts) - row.parts[at(LedgerPart::kWaiting)];
}

Duration computeOf(const LedgerRow& row) {
    return row.parts[at(LedgerPart::kCompute)] + row.parts[at(LedgerPart::kOptimizer)];
}

/// Of a step, the mean over its ranks.
std::vector<double> byStep(const RuleInput& input, Duration (*valueOf)(const LedgerRow&)) {
    std::vector<double> values;
    for (const auto& [step, rows] : input.rows) {
        double sum = 0;
        for (const LedgerRow* row : rows) sum += static_cast<double>(valueOf(*row).ns);
        values.push_back(sum / static_cast<double>(rows.size()));
    }
    return values;
}

/// Operation, group, bytes; and its transfers by step.
using Like = std::tuple<CollectiveOp, std::uint32_t, std::int64_t>;
using Likes = std::map<Like, std::map<StepIndex, std::vector<double>>>;

Likes transfersIn(const RuleInput& input) {
    Likes likes;
    for (const Transfer& transfer : input.collectives.transfers)
        if (transfer.transfer && moves(transfer.operation) && input.steps.contains(transfer.step))
            likes[{transfer.operation, transfer.group, transfer.size.count}][transfer.step]
                .push_back(static_cast<double>(transfer.transfer->ns));
    return likes;
}

struct SlowLike {
    Like like;
    Stretch stretch;
    StepIndex first, last;
};

/// The one that takes most more, of all steps together.
std::optional<SlowLike> slowest(const RuleInput& input) {
    std::optional<SlowLike> worst;
    double most = 0;
    for (const auto& [like, steps] : transfersIn(input)) {
        std::vector<double> medians;
        std::vector<StepIndex> places;
        double count = 0;
        for (const auto& [step, times] : steps) {
            medians.push_back(medianOf(times));
            places.push_back(step);
            count += static_cast<double>(times.size());
        }
        const auto stretch = highStretch(medians, kSlowLink);
        if (!stretch) continue;
        const double excess = stretch->excess() * count / static_cast<double>(steps.size());
        if (excess <= most) continue;
        most = excess;
        worst = SlowLike{like, *stretch, places[stretch->begin], places[stretch->end - 1]};
    }
    return worst;
}

/// What ranks are blocked and compute in a stretch, against the rest.
struct Cost {
    Duration cost, wall;
    double computeFactor = 1;
};

Cost costOf(const RuleInput& input, StepIndex first, StepIndex last) {
    std::map<RankId, std::vector<std::int64_t>> typical;
    std::vector<double> inside, outside;
    const auto isWithin = [&](StepIndex step) { return first <= step && step <= last; };
    for (const auto& [step, rows] : input.rows)
        for (const LedgerRow* row : rows) {
            (isWithin(step) ? inside : outside).push_back(static_cast<double>(computeOf(*row).ns));
            if (!isWithin(step)) typical[row->rank].push_back(movingOf(*row).ns);
        }
    Cost cost;
    if (inside.empty() || outside.empty()) return cost;
    const double before = medianOf(std::move(outside)), then = medianOf(std::move(inside));
    if (before > 0) cost.computeFactor = then / before;
    std::map<RankId, std::int64_t> medians;
    for (auto& [rank, values] : typical) medians[rank] = medianOf(std::move(values));
    for (const auto& [step, rows] : input.rows) {
        if (!isWithin(step)) continue;
        for (const LedgerRow* row : rows) {
            cost.cost += movingOf(*row) - Duration{medians[row->rank]};
            cost.wall += row->wall;
        }
    }
    return cost;
}

/// Moving data needs a core as well.
bool othersTookCores(const RuleInput& input, StepIndex first, StepIndex last) {
    std::set<StepIndex> steps;
    for (const auto& [step, rows] : input.rows)
        if (first <= step && step <= last) steps.insert(step);
    return sumOf(coresTaken(input.summary, input.rows, steps)).isMost();
}

}  // namespace

bool mayHaveSlowLink(const RuleInput& input) {
    return input.rows.size() >= kLeastStepsForSpread &&
           highStretch(byStep(input, movingOf), kBlockedLonger);
}

MaybeFinding findSlowLink(const RuleInput& input) {
    if (!mayHaveSlowLink(input)) return std::nullopt;
    const auto slow = slowest(input);
    if (!slow) return std::nullopt;
    const Cost cost = costOf(input, slow->first, slow->last);
    if (cost.computeFactor >= kSlowMachine ||
        static_cast<double>(cost.cost.ns) < kLeastLinkCost * static_cast<double>(cost.wall.ns))
        return std::nullopt;
    if (othersTookCores(input, slow->first, slow->last)) return std::nullopt;
    const auto& [operation, group, bytes] = slow->like;
    const double factor = slow->stretch.inside / slow->stretch.outside;
    RunFinding finding;
    finding.code = "slow-link";
    finding.severity = Severity::kWarning;
    finding.title = fmt::format("The link is {:.1f} x slower in steps {} to {}", factor,
                                slow->first.value, slow->last.value);
    finding.detail = fmt::format(
        "Data of {}s{} in group {} moves for {} instead of {}; ranks compute {:.2f} x as long as "
        "in "
        "the other steps, and are blocked for {} more while data moves.",
        toWord(operation),
        bytes == kUnknownSize.count ? std::string()
                                    : fmt::format(" of {}", bytesText(Bytes{bytes})),
        group, durationText(Duration{static_cast<std::int64_t>(slow->stretch.inside)}),
        durationText(Duration{static_cast<std::int64_t>(slow->stretch.outside)}),
        cost.computeFactor, durationText(cost.cost));
    finding.remedy = "look at who else used the link then, at its errors and its negotiated speed";
    finding.cost = cost.cost;
    finding.steps = {slow->first, slow->last};
    finding.range = rangeOf(input.summary, slow->first, slow->last);
    finding.denominator =
        "median transfer of the same operation, group and size in the other steps";
    finding.evidence = {{"inside_ns", slow->stretch.inside},
                        {"outside_ns", slow->stretch.outside},
                        {"factor", factor},
                        {"compute_factor", cost.computeFactor},
                        {"size_bytes", static_cast<double>(bytes)}};
    return finding;
}

}  // namespace shardscope::analysis
