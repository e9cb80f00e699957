#include "app/desktop/pages/compare/compare_stacks.h"

#include "app/desktop/loading/part_loader.h"
#include "app/desktop/models/flame_layout.h"
#include "app/desktop/models/format.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <cmath>
#include <utility>

namespace shardscope::desktop {
namespace {

using analysis::CallDifference;
using analysis::CallTree;

/// As `compare` judges: less is no change.
constexpr double kLeastChange = 0.01;
constexpr double kFullChange = 0.5;

QString tr(const char* text) {
    return QCoreApplication::translate("ComparedStacks", text);
}

QString durationText(double ns) {
    return formatDuration({std::llround(ns)});
}

/// -1 to 1, by which a cell is coloured.
float changeOf(const CallDifference::Times& times) {
    if (times.before <= 0) return 1;
    const double change = (times.after - times.before) / times.before;
    if (std::abs(change) < kLeastChange) return 0;
    return static_cast<float>(std::clamp(change / kFullChange, -1.0, 1.0));
}

QString wordOf(std::optional<questions::StackKind> kind) {
    return kind ? QString::fromLatin1(toWord(*kind)) : QString();
}

/// Own times of stacks that one of them has alone.
std::pair<double, double> aloneIn(const CallDifference& difference) {
    std::pair<double, double> alone;
    for (const CallDifference::Times& each : difference.times) {
        if (each.after <= 0) alone.first += each.selfBefore;
        if (each.before <= 0) alone.second += each.selfAfter;
    }
    return alone;
}

QString stepsNote(const questions::StackDifference& difference) {
    if (difference.stepsBefore > 0 && difference.stepsAfter > 0)
        return tr("Time per step and rank, on average over %1 and %2.")
            .arg(formatCount(static_cast<std::int64_t>(difference.stepsBefore)),
                 formatCount(static_cast<std::int64_t>(difference.stepsAfter)));
    if (difference.stepsBefore == difference.stepsAfter)
        return tr("Neither has steps: time of all of each is compared.");
    return difference.stepsBefore == 0
               ? tr("The baseline has no steps: all of it is compared with one step.")
               : tr("What is judged has no steps: all of it is compared with one step.");
}

}  // namespace

FlameData differenceFlame(const CallDifference& difference, FlameWidth width,
                          const QString& whole) {
    std::vector<FlamePair> pairs;
    const auto widthOf = [&](CallTree::Node node) {
        const CallDifference::Times& times = difference.times[node];
        return width == FlameWidth::kJudged ? times.after : times.before;
    };
    FlameData data =
        layOutFlame(difference.tree, whole, widthOf, [&](CallTree::Node node, FlameCell& cell) {
            const CallDifference::Times& times = difference.times[node];
            pairs.push_back({times.before, times.after});
            if (node != CallTree::kRoot) cell.change = changeOf(times);
        });
    data.pairs = std::move(pairs);
    return data;
}

QString differenceNote(const questions::StackDifference& difference, std::size_t recordings) {
    const QString what = wordOf(difference.kind);
    if (!difference.kind) return tr("Neither recording has stacks of what ran.");
    QStringList parts{stepsNote(difference)};
    if (recordings > 2) parts << tr("Of the baselines the first is taken.");
    if (difference.lanesBefore == 0)
        parts << tr("The baseline recorded no %1 here.").arg(what);
    else if (difference.lanesAfter == 0)
        parts << tr("What is judged recorded no %1 here.").arg(what);
    const auto [gone, added] = aloneIn(difference.stacks);
    if (gone > 0) parts << tr("In stacks of the baseline alone: %1.").arg(durationText(gone));
    if (added > 0) parts << tr("In new stacks: %1.").arg(durationText(added));
    return parts.join(u' ');
}

Result<ComparedStacksPtr> readComparedStacks(const OtherRecordings::Readers& readers,
                                             const Selection& selection,
                                             std::optional<questions::StackKind> wanted) {
    const auto read = questions::readStackDifference(*readers.front(), *readers.back(),
                                                     askedSelection(selection), wanted);
    if (!read) return failure(read);
    auto made = std::make_shared<ComparedStacks>();
    made->kinds = read->kinds;
    made->kind = read->kind;
    made->note = differenceNote(*read, readers.size());
    if (!read->kind) return ComparedStacksPtr(std::move(made));
    const QString whole = tr("all %1").arg(wordOf(read->kind));
    made->byJudged = std::make_shared<const FlameData>(
        differenceFlame(read->stacks, FlameWidth::kJudged, whole));
    made->byBaseline = std::make_shared<const FlameData>(
        differenceFlame(read->stacks, FlameWidth::kBaseline, whole));
    return ComparedStacksPtr(std::move(made));
}

}  // namespace shardscope::desktop
