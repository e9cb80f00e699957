#include "profiler/questions/cost_tables.h"

#include "profiler/questions/cells.h"
#include "profiler/questions/read_totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace shardscope::questions {
namespace {

/// Steps of all ranks together; without steps a run is one.
double rankSteps(const RecordingSummary& summary) {
    return static_cast<double>(std::max<std::size_t>(summary.steps.size(), 1));
}

Result<CostsByName> spanCosts(const Asked& asked, Counted counted) {
    const auto totals = readTotals(asked, counted, Outside::kLeftOut);
    if (!totals) return failure(totals);
    CostsByName costs;
    const double steps = rankSteps(asked.summary);
    for (const analysis::SpanTotal& each : *totals)
        costs[each.name] = {static_cast<double>(each.count) / steps,
                            static_cast<double>(each.self.ns) / steps};
    return costs;
}

/// "all-gather (prefetch)"
std::string nameOf(const CollectiveEvent& event) {
    if (event.cause == Cause::kNone) return toWord(event.operation);
    return fmt::format("{} ({})", toWord(event.operation), toWord(event.cause));
}

CostsByName collectiveCosts(const RecordingSummary& summary, const std::vector<RankEvents>& ranks) {
    CostsByName costs;
    const double steps = rankSteps(summary);
    for (const RankEvents& events : ranks)
        for (const CollectiveEvent& event : events.collectives) {
            // Start-up and end are no part of a step.
            if (event.step == kNoStep && !summary.steps.empty()) continue;
            Cost& cost = costs[nameOf(event)];
            cost.count += 1 / steps;
            cost.ns += static_cast<double>((event.end - event.start).ns) / steps;
        }
    return costs;
}

const char* changeWord(const Cost* first, const Cost* second) {
    if (first == nullptr) return "added";
    if (second == nullptr) return "removed";
    return "both";
}

void addTable(const char* key, const char* title, const CostsByName& first,
              const CostsByName& second, Answer& answer) {
    if (first.empty() && second.empty()) return;
    Table table{key,
                title,
                {{"name", "name"},
                 {"state", "state", Unit::kNone, "Added, removed, or in both runs."},
                 {"first_count", "count", Unit::kNone, "A step and rank, first run."},
                 {"second_count", "count", Unit::kNone, "A step and rank, second run."},
                 {"first_ns", "first", Unit::kNanoseconds, "Self time per step and rank."},
                 {"second_ns", "second", Unit::kNanoseconds, "The same of the second run."},
                 {"difference_ns", "difference", Unit::kSignedNanoseconds, "Second - first."}},
                {}};
    std::set<std::string> names;
    for (const CostsByName* costs : {&first, &second})
        for (const auto& [name, cost] : *costs) names.insert(name);
    const auto find = [](const CostsByName& costs, const std::string& name) {
        const auto found = costs.find(name);
        return found == costs.end() ? nullptr : &found->second;
    };
    for (const std::string& name : names) {
        const Cost* a = find(first, name);
        const Cost* b = find(second, name);
        const Cost one = a != nullptr ? *a : Cost{}, other = b != nullptr ? *b : Cost{};
        table.rows.push_back(
            {name, changeWord(a, b), one.count, other.count, one.ns, other.ns, other.ns - one.ns});
    }
    const std::size_t difference = table.columnAt("difference_ns");
    std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
        return std::abs(numberOf(a[difference])) > std::abs(numberOf(b[difference]));
    });
    answer.tables.push_back(std::move(table));
}

}  // namespace

Result<Costs> readCosts(const Asked& asked, const std::vector<RankEvents>& ranks) {
    auto operators = spanCosts(asked, Counted::kOperators);
    if (!operators) return failure(operators);
    auto kernels = spanCosts(asked, Counted::kKernels);
    if (!kernels) return failure(kernels);
    return Costs{std::move(*operators), std::move(*kernels), collectiveCosts(asked.summary, ranks)};
}

void addCostTables(const Costs& first, const Costs& second, Answer& answer) {
    addTable("collectives", "Collectives by what makes the difference", first.collectives,
             second.collectives, answer);
    addTable("kernels", "Kernels by what makes the difference", first.kernels, second.kernels,
             answer);
    addTable("operators", "Operators by what makes the difference", first.operators,
             second.operators, answer);
}

}  // namespace shardscope::questions
