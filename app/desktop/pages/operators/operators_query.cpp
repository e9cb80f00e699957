#include "app/desktop/pages/operators/operators_query.h"

#include "app/desktop/loading/part_loader.h"
#include "app/desktop/models/flame_data.h"
#include "app/desktop/models/format.h"
#include "profiler/questions/question.h"
#include "storage/recording/read/cancellable_reader.h"

#include <QObject>
#include <algorithm>
#include <utility>

namespace shardscope::desktop {
namespace {

using analysis::CallTree;
using questions::StackKind;
using questions::StackTag;

Meaning collectiveMeaning(const std::string& name) {
    for (const CollectiveWords& each : kWords<CollectiveOp>)
        if (name.find(each.kernel) != std::string::npos ||
            name.find(each.word) != std::string::npos)
            return meaningOf(each.value);
    return Meaning::kOtherCollective;
}

Meaning frameMeaning(const CallTree::Frame& frame, const std::string& name) {
    const StackTag tag = StackTag::of(frame.tag);
    switch (tag.role) {
        case LaneRole::kCommunication:
            return collectiveMeaning(name);
        case LaneRole::kCopy:
            return Meaning::kDeviceCopy;
        case LaneRole::kCompute:
            return tag.phase == Phase::kNone ? Meaning::kCompute : meaningOf(tag.phase);
        default:
            return meaningOf(tag.phase);
    }
}

FlameData layOut(const CallTree& tree, const QString& whole) {
    const auto width = [&](CallTree::Node node) {
        return static_cast<double>(tree.frames()[node].total.ns);
    };
    return layOutFlame(tree, whole, width, [&](CallTree::Node node, FlameCell& cell) {
        const CallTree::Frame& frame = tree.frames()[node];
        cell.self = static_cast<double>(frame.self.ns);
        cell.count = frame.count;
        if (node != CallTree::kRoot) cell.meaning = frameMeaning(frame, tree.names()[frame.name]);
    });
}

}  // namespace

Result<StacksFramePtr> loadStacks(storage::RecordingReader& reader, const PartPtr& part,
                                  std::optional<StackKind> wanted,
                                  const storage::Generation& generation) {
    storage::CancellableReader cancellable(reader, generation);
    auto frame = std::make_shared<StacksFrame>();
    frame->part = part;
    if (!part->refusal.isEmpty()) return StacksFramePtr(frame);
    const questions::Selection selection = askedSelection(part->selection);
    const questions::Asked asked{cancellable, *part->summary, selection};
    frame->kinds = questions::stackKinds(*part->summary);
    if (frame->kinds.empty()) return StacksFramePtr(frame);
    const bool has = wanted && std::find(frame->kinds.begin(), frame->kinds.end(), *wanted) !=
                                   frame->kinds.end();
    frame->kind = has ? *wanted : frame->kinds.front();
    auto stacks = questions::readStacks(asked, *frame->kind);
    if (!stacks) return failure(stacks);
    frame->stacks = std::move(*stacks);
    return StacksFramePtr(frame);
}

std::shared_ptr<const FlameData> flameOf(const StacksFrame& frame, FlameShape shape) {
    const CallTree& tree = shape.byLane ? frame.stacks.byLane : frame.stacks.merged;
    const QString whole =
        frame.kind ? QObject::tr("all %1").arg(QLatin1StringView(toWord(*frame.kind))) : QString();
    return std::make_shared<const FlameData>(
        shape.inverted ? layOut(analysis::inverted(tree), whole) : layOut(tree, whole));
}

NamedCalls callsIn(const StacksFrame& frame, const QString& name) {
    const CallTree& tree = frame.stacks.merged;
    auto known = tree.find(name.toStdString());
    if (!known) {
        std::vector<Duration> self(tree.names().size());
        for (const CallTree::Frame& each : tree.frames()) self[each.name] += each.self;
        known = static_cast<CallTree::Name>(std::max_element(self.begin() + 1, self.end()) -
                                            self.begin());
    }
    return {fromUtf8(tree.names()[*known]), analysis::callsOf(tree, *known)};
}

Result<WorkFramePtr> loadWork(storage::RecordingReader& reader, const PartPtr& part,
                              const storage::Generation& generation) {
    storage::CancellableReader cancellable(reader, generation);
    auto frame = std::make_shared<WorkFrame>();
    frame->part = part;
    if (!part->refusal.isEmpty()) return WorkFramePtr(frame);
    const questions::Selection selection = askedSelection(part->selection);
    const questions::Asked asked{cancellable, *part->summary, selection};
    auto work = questions::answerTo(*questions::findQuestion("work"), asked);
    if (!work) return failure(work);
    frame->work = std::move(*work);
    auto launches = questions::answerTo(*questions::findQuestion("launches"), asked);
    if (!launches) return failure(launches);
    frame->launches = std::move(*launches);
    auto queues = questions::readQueues(asked, kMostQueueRanks);
    if (!queues) return failure(queues);
    frame->queues = std::move(*queues);
    return WorkFramePtr(frame);
}

Result<FoundSpans> loadOccurrences(storage::RecordingReader& reader, const PartPtr& part,
                                   const std::vector<StackKind>& kinds, const QString& name,
                                   const storage::Generation& generation) {
    storage::CancellableReader cancellable(reader, generation);
    const questions::Selection selection = askedSelection(part->selection);
    const questions::Asked asked{cancellable, *part->summary, selection};
    const std::string wanted = name.toStdString();
    for (const StackKind kind : kinds) {
        auto found = questions::readOccurrences(asked, kind, wanted);
        if (!found) return failure(found);
        if (*found) return FoundSpans(*found);
    }
    return FoundSpans();
}

}  // namespace shardscope::desktop
