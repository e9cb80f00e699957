#include "profiler/analysis/report/lacks.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/cost_tables.h"
#include "profiler/questions/questions.h"
#include "profiler/questions/work_tables.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>

namespace shardscope::questions {
namespace {

std::string noOperators(const RecordingSummary& summary) {
    const char* why = "operators unknown: none were captured";
    return sourceOf(summary.run) == RecordingSource::kProgram
               ? analysis::withHow(why, summary, analysis::Lack::kOperators)
               : std::string(why) + " (capture level full has them)";
}

using analysis::LayerTotal;
using analysis::SpanTotal;
using analysis::StepPart;

Table tableOf(const char* key, const char* title, const std::vector<SpanTotal>& totals) {
    Table table{
        key,
        title,
        {{"name", "name"},
         {"count", "count", Unit::kCount, "Whole, also of what reaches over the edge of a range."},
         {"total_ns", "total", Unit::kNanoseconds, "Durations, inner spans included."},
         {"self_ns", "self", Unit::kNanoseconds,
          "Without spans inside of it on its thread or stream."},
         {"share_pct", "of self time", Unit::kPercent, "Self / the sum of all self times."},
         {"mean_ns", "mean", Unit::kNanoseconds, "Of a single one: total / count."},
         {"deviation_ns", "deviation", Unit::kNanoseconds, "Standard deviation."},
         {"longest_ns", "longest", Unit::kNanoseconds, "Single one."},
         {"forward_ns", "forward", Unit::kNanoseconds, "Self, in forward and head."},
         {"backward_ns", "backward", Unit::kNanoseconds, "Self, in backward."},
         {"optimizer_ns", "optimizer", Unit::kNanoseconds, "Self, in clip and optimizer."}},
        {}};
    Duration all, known;
    const auto timeOf = [](const SpanTotal& each, StepPart wanted) {
        return each.selfByPart[static_cast<std::size_t>(wanted)];
    };
    for (const SpanTotal& each : totals) {
        all += each.self;
        known += each.self - timeOf(each, StepPart::kOther);
    }
    // spans of imported traces do not say their phases
    const auto part = [&](const SpanTotal& each, StepPart wanted) {
        return known.ns > 0 ? Cell(timeOf(each, wanted).ns) : Cell();
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

/// Nothing where no span says its layer.
void addLayers(const char* title, const std::vector<LayerTotal>& layers, Answer& answer) {
    Duration all;
    for (const LayerTotal& each : layers) all += each.self;
    if (layers.empty() || (layers.size() == 1 && layers.front().layer == kNoLayer)) return;
    Table table{"layers",
                title,
                {{"layer", "layer"},
                 {"count", "count", Unit::kCount},
                 {"self_ns", "self", Unit::kNanoseconds,
                  "Without spans inside of it on its thread or stream."},
                 {"share_pct", "of self time", Unit::kPercent, "Self / the sum of all self times."},
                 {"forward_ns", "forward", Unit::kNanoseconds, "Self, in forward and head."},
                 {"backward_ns", "backward", Unit::kNanoseconds, "Self, in backward."},
                 {"optimizer_ns", "optimizer", Unit::kNanoseconds, "Self, in clip and optimizer."}},
                {}};
    for (const LayerTotal& each : layers) {
        const auto part = [&](StepPart wanted) {
            return each.selfByPart[static_cast<std::size_t>(wanted)].ns;
        };
        table.rows.push_back({layerCell(each.layer), each.count, each.self.ns,
                              share(each.self, all), part(StepPart::kForward),
                              part(StepPart::kBackward), part(StepPart::kOptimizer)});
    }
    answer.tables.push_back(std::move(table));
}

void addTypes(const RoleTotals& types, Answer& answer) {
    Duration all;
    for (const auto& [role, total] : types) all += total.total;
    if (types.empty()) return;
    Table table{
        "types",
        "Kernels and copies by type",
        {{"type", "type", Unit::kNone, "Copies: of memory, and sets of it."},
         {"count", "count", Unit::kCount},
         {"total_ns", "total", Unit::kNanoseconds, "Durations; streams run at the same time."},
         {"share_pct", "of total", Unit::kPercent, "Total / the sum of all types."},
         {"mean_ns", "mean", Unit::kNanoseconds, "Of a single one: total / count."}},
        {}};
    for (const auto& [role, total] : types)
        table.rows.push_back(
            {role == LaneRole::kCopy ? "copies" : toWord(role), total.count, total.total.ns,
             share(total.total, all),
             static_cast<double>(total.total.ns) / static_cast<double>(total.count)});
    answer.tables.push_back(std::move(table));
}

std::string leftOutText(Duration operators, Duration kernels) {
    std::vector<std::string> parts;
    const auto add = [&](Duration time, const char* what) {
        if (time.ns > 0) parts.push_back(fmt::format("{} of {}", durationText(time), what));
    };
    add(operators, "operators");
    add(kernels, "kernels and copies");
    return fmt::format("Calibration before the training is left out: {} (self time).",
                       fmt::join(parts, " and "));
}

}  // namespace

Result<Answer> askWork(const Asked& asked) {
    Answer answer;
    RoleTotals types;
    const auto kernels = readSpanTotals(asked, Counted::kKernels, Outside::kCounts, &types);
    if (!kernels) return failure(kernels);
    const auto copies = readSpanTotals(asked, Counted::kCopies, Outside::kCounts, &types);
    if (!copies) return failure(copies);
    if (kernels->totals.empty())
        answer.unknown.push_back(
            analysis::withHow("kernels unknown: no device was traced, or none ran in the selection",
                              asked.summary, analysis::Lack::kKernels));
    else
        answer.tables.push_back(tableOf("kernels", "Kernels", kernels->totals.sorted()));
    const auto operators = readSpanTotals(asked, Counted::kOperators);
    if (!operators) return failure(operators);
    const std::vector<SpanTotal> byName = operators->totals.sorted();
    if (byName.empty())
        answer.unknown.push_back(noOperators(asked.summary));
    else
        answer.tables.push_back(tableOf("operators", "Operators of host threads", byName));
    if (operators->apart.ns + kernels->apart.ns + copies->apart.ns > 0)
        answer.sentences.push_back(leftOutText(operators->apart, kernels->apart + copies->apart));
    addTypes(types, answer);
    if (auto done = addCopies(asked, answer); !done) return failure(done);
    auto ranks = readRankWork(asked);
    if (!ranks) return failure(ranks);
    append(std::move(ranks->collectives), answer);
    if (auto done = addProducts(asked, answer); !done) return failure(done);
    if (auto done = addRoofline(asked, answer); !done) return failure(done);
    for (Table& table : answer.tables) putInOrder(asked, table);
    if (kernels->totals.empty())
        addLayers("Layers, by operators of host threads", operators->totals.byLayer(), answer);
    else
        addLayers("Layers, by kernels", kernels->totals.byLayer(), answer);
    append(std::move(ranks->parts), answer);
    return answer;
}

}  // namespace shardscope::questions
