#include "profiler/questions/cells.h"
#include "profiler/questions/questions.h"
#include "profiler/questions/read_totals.h"
#include "profiler/questions/work_tables.h"

#include <fmt/format.h>

namespace shardscope::questions {
namespace {

using analysis::SpanTotal;
using analysis::StepPart;

Table tableOf(const char* key, const char* title, const std::vector<SpanTotal>& totals) {
    Table table{
        key,
        title,
        {{"name", "name"},
         {"count", "count", Unit::kCount, "Whole, also of what reaches over the edge of a range."},
         {"total_ns", "total", Unit::kNanoseconds, "Durations, inner spans included."},
         {"self_ns", "self", Unit::kNanoseconds, "Without spans inside of it on its lane."},
         {"share_pct", "of self time", Unit::kPercent, "Self / the sum of all self times."},
         {"mean_ns", "mean", Unit::kNanoseconds, "Of a single one: total / count."},
         {"deviation_ns", "deviation", Unit::kNanoseconds, "Standard deviation."},
         {"longest_ns", "longest", Unit::kNanoseconds, "Single one."},
         {"forward_ns", "forward", Unit::kNanoseconds, "Self, in forward and head."},
         {"backward_ns", "backward", Unit::kNanoseconds, "Self, in backward."},
         {"optimizer_ns", "optimizer", Unit::kNanoseconds, "Self, in clip and optimizer."}},
        {}};
    Duration all;
    for (const SpanTotal& each : totals) all += each.self;
    const auto part = [](const SpanTotal& each, StepPart wanted) {
        return each.selfByPart[static_cast<std::size_t>(wanted)].ns;
    };
    for (const SpanTotal& each : totals)
        table.rows.push_back(
            {each.name, each.count, each.total.ns, each.self.ns,
             all.ns > 0
                 ? Cell(100 * static_cast<double>(each.self.ns) / static_cast<double>(all.ns))
                 : Cell(),
             each.meanNs(), each.deviationNs(), each.longest.ns, part(each, StepPart::kForward),
             part(each, StepPart::kBackward), part(each, StepPart::kOptimizer)});
    return table;
}

}  // namespace

Result<Answer> askWork(const Asked& asked) {
    Answer answer;
    const auto kernels = readTotals(asked, Counted::kKernels);
    if (!kernels) return failure(kernels);
    if (kernels->empty())
        answer.untold.emplace_back(
            "could not tell which kernels ran: no device was traced, or none ran in what is "
            "selected");
    else
        answer.tables.push_back(tableOf("kernels", "Kernels", *kernels));
    const auto operators = readTotals(asked, Counted::kOperators);
    if (!operators) return failure(operators);
    if (operators->empty())
        answer.untold.emplace_back(
            "could not tell which operators ran: none were captured (capture level full has them)");
    else
        answer.tables.push_back(tableOf("operators", "Operators of host threads", *operators));
    const auto ranks = asked.events();
    if (!ranks) return failure(ranks);
    addCollectives(*ranks, answer);
    if (auto done = addProducts(asked, answer); !done) return failure(done);
    for (Table& table : answer.tables) putInOrder(asked, table);
    if (auto done = addParts(asked, *ranks, answer); !done) return failure(done);
    return answer;
}

}  // namespace shardscope::questions
