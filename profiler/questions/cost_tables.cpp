#include "profiler/questions/cost_tables.h"

#include "profiler/questions/answer/cells.h"
#include "storage/interchange/formats/export_scope.h"
#include "storage/model/events.h"
#include "storage/model/lanes.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string_view>
#include <vector>

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
            // Start-up and end are not part of a step.
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
                 {"first_count", "count", Unit::kNone, "Per step and rank, first run."},
                 {"second_count", "count", Unit::kNone, "Per step and rank, second run."},
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

bool isCounted(const LaneFacts& lane, Counted counted) {
    if (counted == Counted::kOperators)
        return lane.role == LaneRole::kHost && !isOverheadLane(lane.lane, lane.name);
    if (!isStreamLane(lane.lane)) return false;
    if (counted == Counted::kCopies) return lane.role == LaneRole::kCopy;
    return lane.role == LaneRole::kCompute || lane.role == LaneRole::kCommunication;
}

namespace {

/// The outer first: its depth is less, or, of `several` lanes of a thread, it is longer. Most lanes
/// come so.
void putInOrder(std::vector<SpanEvent>& spans, bool several) {
    const auto earlier = [several](const SpanEvent& a, const SpanEvent& b) {
        if (a.start != b.start) return a.start < b.start;
        return several ? a.duration > b.duration : a.depth < b.depth;
    };
    if (!std::is_sorted(spans.begin(), spans.end(), earlier))
        std::stable_sort(spans.begin(), spans.end(), earlier);
}

/// Takes what is apart out of the spans of a lane; its self time.
Duration takeApart(std::vector<SpanEvent>& spans) {
    std::vector<SpanEvent> apart;
    std::copy_if(spans.begin(), spans.end(), std::back_inserter(apart), isApart);
    if (apart.empty()) return {};
    std::erase_if(spans, isApart);
    analysis::SpanTotals totals;
    totals.add(apart, [](StringId) { return std::string_view(); });
    Duration self;
    for (const analysis::SpanTotal& each : totals.sorted()) self += each.self;
    return self;
}

}  // namespace

Result<CountedSpans> readSpanTotals(const Asked& asked, Counted counted, Outside outside,
                                    RoleTotals* roles) {
    const bool steps = outside == Outside::kLeftOut && !asked.summary.steps.empty();
    CountedSpans counts;
    std::vector<LaneFacts> wanted;
    for (const LaneFacts& lane : asked.summary.lanes)
        if (isCounted(lane, counted) && asked.selection.takes(lane.rank)) wanted.push_back(lane);
    for (const auto& lanes : interchange::ExportScope::byThread(wanted)) {
        const RankId rank = lanes.front().rank;
        std::vector<SpanEvent> spans;
        for (const LaneFacts& lane : lanes) {
            const auto own =
                asked.reader.spans(rank, lane.lane, asked.selection.timeOf(asked.summary, rank));
            if (!own) return failure(own);
            spans.insert(spans.end(), own->begin(), own->end());
        }
        std::erase_if(spans, [&](const SpanEvent& span) {
            return span.step == kNoStep ? steps : !asked.selection.takesStep(span.step);
        });
        putInOrder(spans, lanes.size() > 1);
        counts.apart += takeApart(spans);
        for (const SpanEvent& span : spans) {
            if (roles == nullptr) break;
            RoleTotal& role = (*roles)[lanes.front().role];
            ++role.count;
            role.total += span.duration;
        }
        counts.totals.add(spans, [&](StringId name) { return asked.reader.text(rank, name); });
    }
    return counts;
}

Result<std::vector<analysis::SpanTotal>> readTotals(const Asked& asked, Counted counted,
                                                    Outside outside) {
    const auto counts = readSpanTotals(asked, counted, outside);
    if (!counts) return failure(counts);
    return counts->totals.sorted();
}

}  // namespace shardscope::questions
