#include "profiler/analysis/report/lacks.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/questions.h"
#include "profiler/questions/work_tables.h"
#include "storage/interchange/formats/folded_stacks.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope::questions {
namespace {

using interchange::ExportOptions;
using interchange::ExportScope;
using interchange::FoldedStacks;
using interchange::StackTree;

Table emptyTable() {
    return {"stacks",
            "Stacks",
            {{"rank", "rank"},
             {"kind", "kind", Unit::kNone, "What the lane shows: compute, host, runtime, ..."},
             {"stack", "stack", Unit::kNone,
              "Frames from the lane inwards, with semicolons between them."},
             {"self_ns", "self", Unit::kNanoseconds, "Without spans within."},
             {"total_ns", "total", Unit::kNanoseconds, "With them."},
             {"count", "count", Unit::kCount}},
            {}};
}

bool hasSpans(const LaneFacts& lane) {
    return lane.role != LaneRole::kCounter;
}

void addStacks(RankId rank, LaneRole role, const StackTree& tree, Table& table) {
    for (StackTree::Node node = 0; node < tree.size(); ++node) {
        const StackTree::Stack& stack = tree.stack(node);
        if (stack.count > 0)
            table.rows.push_back({std::int64_t{rank.value}, toWord(role), tree.text(node),
                                  stack.self.ns, stack.total.ns, stack.count});
    }
}

Result<void> addRank(const Asked& asked, RankId rank, ExportScope& scope, Table& table,
                     Duration& leftOut) {
    const TimeRange time = asked.selection.timeOf(asked.summary, rank);
    if (time.empty()) return {};
    scope.setRange(time);
    for (const auto& lanes : ExportScope::byThread(scope.lanes(rank))) {
        const LaneFacts& lane = lanes.front();
        if (!hasSpans(lane)) continue;
        FoldedStacks folded(scope, FoldedStacks::Apart::kLeftOut);
        const auto root =
            folded.tree().child(StackTree::kRoot, lanes.size() > 1 ? withoutUse(lane.name)
                                                                   : std::string_view(lane.name));
        if (auto done = folded.lanes(lanes, root); !done) return done;
        addStacks(rank, lane.role, folded.tree(), table);
        leftOut += folded.leftOut();
    }
    return {};
}

}  // namespace

Result<Answer> askFlame(const Asked& asked) {
    Answer answer;
    Table table = emptyTable();
    const ExportOptions options;
    auto scope = ExportScope::of(asked.reader, options);
    if (!scope) return failure(scope);
    Duration leftOut;
    for (const RankFacts& rank : asked.summary.ranks)
        if (auto done = addRank(asked, rank.rank, *scope, table, leftOut); !done)
            return failure(done);
    if (leftOut.ns > 0)
        answer.sentences.push_back(
            fmt::format("Calibration before the training is left out: {} over all lanes.",
                        durationText(leftOut)));
    if (table.rows.empty()) {
        answer.unknown.push_back(analysis::withHow(
            "what the time looks like is unknown: no spans are in the recording, or in the "
            "selection",
            asked.summary, analysis::Lack::kPhases));
        return answer;
    }
    const std::size_t self = table.columnAt("self_ns");
    std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
        return numberOf(a[self]) > numberOf(b[self]);
    });
    putInOrder(asked, table);
    answer.tables.push_back(std::move(table));
    return answer;
}

}  // namespace shardscope::questions
