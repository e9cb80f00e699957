#include "profiler/questions/read_stacks.h"

#include "profiler/questions/question.h"
#include "storage/interchange/formats/folded_stacks.h"
#include "storage/model/lanes.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace shardscope::questions {
namespace {

using analysis::CallTree;
using interchange::ExportOptions;
using interchange::ExportScope;
using interchange::FoldedStacks;
using interchange::StackTree;

/// As Kineto calls what the interpreter ran.
bool isPython(const LaneFacts& lane) {
    return lane.name.find(": python_function") != std::string::npos;
}

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

std::optional<StackKind> stackKindOf(const LaneFacts& lane) {
    if (isOverheadLane(lane.lane, lane.name)) return std::nullopt;
    switch (lane.role) {
        case LaneRole::kHost:
            return isPython(lane) ? StackKind::kPython : StackKind::kOperators;
        case LaneRole::kCompute:
        case LaneRole::kCommunication:
        case LaneRole::kCopy:
            if (isStreamLane(lane.lane)) return StackKind::kKernels;
            return lane.role == LaneRole::kCompute ? std::optional(StackKind::kPhases)
                                                   : std::nullopt;
        case LaneRole::kRuntime:
            return StackKind::kCalls;
        case LaneRole::kRange:
            return StackKind::kRanges;
        case LaneRole::kSync:
        case LaneRole::kCounter:
            break;
    }
    return std::nullopt;
}

namespace {

std::optional<Phase> phaseNamed(std::string_view word) {
    for (const auto& each : kWords<Phase>)
        if (word == each.word) return each.value;
    return std::nullopt;
}

/// A lane's stacks, below `root` of another tree.
void addTo(CallTree& tree, CallTree::Node root, const StackTree& lane, LaneRole role) {
    struct Place {
        CallTree::Node node;
        Phase phase;
    };
    std::vector<Place> places(lane.size(), {root, Phase::kNone});
    for (StackTree::Node node = 1; node < lane.size(); ++node) {
        const StackTree::Node parent = lane.parent(node);
        const StackTree::Stack& stack = lane.stack(node);
        Phase phase = places[parent].phase;
        if (parent == StackTree::kRoot && stack.count == 0)
            phase = phaseNamed(lane.name(node)).value_or(Phase::kNone);
        const CallTree::Node at =
            tree.child(places[parent].node, lane.name(node), StackTag{phase, role}.packed());
        places[node] = {at, phase};
        tree.add(at, stack.self, stack.count);
    }
}

}  // namespace

std::vector<StackKind> stackKinds(const RecordingSummary& summary) {
    std::vector<StackKind> kinds;
    for (const StackKind kind : kAll<StackKind>)
        if (std::any_of(summary.lanes.begin(), summary.lanes.end(),
                        [&](const LaneFacts& lane) { return stackKindOf(lane) == kind; }))
            kinds.push_back(kind);
    return kinds;
}

Result<Stacks> readStacks(const Asked& asked, StackKind kind) {
    Stacks stacks;
    const ExportOptions options;
    auto scope = ExportScope::of(asked.reader, options);
    if (!scope) return failure(scope);
    std::vector<LaneFacts> wanted;
    for (const LaneFacts& lane : asked.summary.lanes)
        if (stackKindOf(lane) == kind && asked.selection.takes(lane.rank)) wanted.push_back(lane);
    for (const auto& lanes : ExportScope::byThread(wanted)) {
        const LaneFacts& lane = lanes.front();
        const TimeRange time = asked.selection.timeOf(asked.summary, lane.rank);
        if (time.empty()) continue;
        scope->setRange(time);
        FoldedStacks folded(*scope, FoldedStacks::Apart::kLeftOut);
        if (auto done = folded.lanes(lanes, StackTree::kRoot); !done) return failure(done);
        if (folded.tree().size() == 1) continue;
        ++stacks.lanes;
        addTo(stacks.merged, CallTree::kRoot, folded.tree(), lane.role);
        const std::string title =
            fmt::format("rank {}, {}", lane.rank.value,
                        lanes.size() > 1 ? withoutUse(lane.name) : std::string_view(lane.name));
        addTo(
            stacks.byLane,
            stacks.byLane.child(CallTree::kRoot, title, StackTag{Phase::kNone, lane.role}.packed()),
            folded.tree(), lane.role);
    }
    stacks.merged.addUp();
    stacks.byLane.addUp();
    return stacks;
}

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
