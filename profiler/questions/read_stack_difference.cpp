#include "profiler/questions/read_stack_difference.h"

#include "profiler/questions/question.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace shardscope::questions {
namespace {

struct Side {
    Selection selection;
    RecordingSummary summary;
    std::vector<StackKind> kinds;
};

Result<Side> readSide(storage::RecordingReader& reader, Selection selection) {
    const auto whole = reader.summary();
    if (!whole) return failure(whole);
    if (!selection.cutsTime() && !whole->steps.empty())
        selection.steps = {{StepIndex{std::numeric_limits<std::int32_t>::min()},
                            StepIndex{std::numeric_limits<std::int32_t>::max()}}};
    auto summary = selection.of(*whole);
    if (!summary) return failure(summary);
    auto kinds = stackKinds(*summary);
    return Side{std::move(selection), std::move(*summary), std::move(kinds)};
}

bool has(const std::vector<StackKind>& kinds, StackKind kind) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

std::optional<StackKind> chosen(const Side& before, const Side& after,
                                const std::vector<StackKind>& kinds,
                                std::optional<StackKind> wanted) {
    if (wanted && has(kinds, *wanted)) return wanted;
    for (const StackKind kind : kinds)
        if (has(before.kinds, kind) && has(after.kinds, kind)) return kind;
    return kinds.empty() ? std::nullopt : std::optional(kinds.front());
}

double parts(std::size_t steps) {
    return static_cast<double>(std::max<std::size_t>(steps, 1));
}

}  // namespace

Result<StackDifference> readStackDifference(storage::RecordingReader& before,
                                            storage::RecordingReader& after,
                                            const Selection& selection,
                                            std::optional<StackKind> wanted) {
    const auto first = readSide(before, selection);
    if (!first) return failure(first);
    const auto second = readSide(after, selection);
    if (!second) return failure(second);
    StackDifference made;
    for (const StackKind kind : kAll<StackKind>)
        if (has(first->kinds, kind) || has(second->kinds, kind)) made.kinds.push_back(kind);
    made.kind = chosen(*first, *second, made.kinds, wanted);
    made.stepsBefore = first->summary.steps.size();
    made.stepsAfter = second->summary.steps.size();
    if (!made.kind) return made;
    const auto one = readStacks({before, first->summary, first->selection}, *made.kind);
    if (!one) return failure(one);
    const auto other = readStacks({after, second->summary, second->selection}, *made.kind);
    if (!other) return failure(other);
    made.lanesBefore = one->lanes;
    made.lanesAfter = other->lanes;
    made.stacks = analysis::callDifference(one->merged, parts(made.stepsBefore), other->merged,
                                           parts(made.stepsAfter));
    return made;
}

}  // namespace shardscope::questions
