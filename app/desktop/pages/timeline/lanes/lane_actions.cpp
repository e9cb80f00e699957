#include "app/desktop/pages/timeline/lanes/lane_actions.h"

#include "storage/model/rank_facts.h"

#include <QObject>
#include <algorithm>
#include <iterator>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

template <class Set, class Value>
void toggle(Set& set, const Value& value) {
    if (!set.insert(value).second) set.erase(value);
}

void unpin(std::vector<LaneAddress>& pinned, const LaneRow& row) {
    for (const LaneAddress& key : row.lanes()) std::erase(pinned, key);
}

void togglePinned(std::vector<LaneAddress>& pinned, const LaneRow& row) {
    const bool was = std::find(pinned.begin(), pinned.end(), row.key) != pinned.end();
    unpin(pinned, row);
    const std::vector<LaneAddress> lanes = row.lanes();
    if (!was) pinned.insert(pinned.end(), lanes.begin(), lanes.end());
}

/// Rows that the row may change places with, itself among them: of its group, or the pinned ones.
std::vector<const LaneRow*> rowsBeside(const LaneLayout& layout, const LaneRow& row) {
    std::vector<const LaneRow*> rows;
    for (const LaneRow& other : layout.rows) {
        const bool ofGroup = other.key.rank == row.key.rank && other.group == row.group;
        if (other.isLane() && other.pinned == row.pinned && (row.pinned || ofGroup))
            rows.push_back(&other);
    }
    return rows;
}

template <class T, class Test>
void moveBy(std::vector<T>& all, Test isIt, int by) {
    const auto at = std::find_if(all.begin(), all.end(), isIt);
    if (at == all.end()) return;
    const auto to = at - all.begin() + by;
    if (to >= 0 && to < static_cast<std::ptrdiff_t>(all.size()))
        std::iter_swap(at, all.begin() + to);
}

/// A lane within its group or among the pinned; a rank among ranks.
void move(const LaneLayout& layout, LaneLayoutOptions& options, const LaneRow& row, int by) {
    if (row.kind == LaneRow::Kind::kHeader) {
        std::vector<RankId> order;
        for (const LaneRow& other : layout.rows)
            if (other.kind == LaneRow::Kind::kHeader) order.push_back(other.key.rank);
        moveBy(
            order, [&](RankId rank) { return rank == row.key.rank; }, by);
        options.rankOrder = order;
        return;
    }
    if (!row.isLane()) return;
    std::vector<const LaneRow*> rows = rowsBeside(layout, row);
    moveBy(
        rows, [&](const LaneRow* other) { return other->key == row.key; }, by);
    std::vector<LaneAddress> lanes;
    for (const LaneRow* other : rows) std::ranges::copy(other->lanes(), std::back_inserter(lanes));
    if (row.pinned) {
        // those of ranks that are not shown stay pinned
        for (const LaneAddress& key : lanes) std::erase(options.pinned, key);
        options.pinned.insert(options.pinned.begin(), lanes.begin(), lanes.end());
        return;
    }
    std::vector<LaneId>& order = options.order[{row.key.rank, row.group}];
    order.clear();
    for (const LaneAddress& key : lanes) order.push_back(key.lane);
}

bool isPinned(const LaneLayoutOptions& options, LaneAddress key) {
    return std::find(options.pinned.begin(), options.pinned.end(), key) != options.pinned.end();
}

void addOfLane(const LaneRow& row, const LaneLayoutOptions& options,
               std::vector<LaneChoice>& choices) {
    if (row.allDepths > row.firstDepths())
        choices.push_back({LaneAction::kLevels,
                           options.expanded.contains(row.key)
                               ? QObject::tr("Show the first %1 levels").arg(row.firstDepths())
                               : QObject::tr("Show all %1 levels").arg(row.allDepths),
                           u"E"_s});
    if (row.kind == LaneRow::Kind::kCounter)
        choices.push_back({LaneAction::kTaller,
                           options.tall.contains(row.key) ? QObject::tr("Make low again")
                                                          : QObject::tr("Make taller"),
                           u"T"_s});
    choices.push_back(
        {LaneAction::kPin,
         isPinned(options, row.key) ? QObject::tr("Unpin") : QObject::tr("Pin to the top"),
         u"P"_s});
    choices.push_back({LaneAction::kHide, QObject::tr("Hide"), u"H"_s});
}

}  // namespace

std::vector<LaneChoice> laneChoices(const LaneRow* row, const LaneLayoutOptions& options) {
    std::vector<LaneChoice> choices;
    if (row != nullptr && row->isHeader())
        choices.push_back({LaneAction::kFold,
                           row->collapsed ? QObject::tr("Unfold %1").arg(row->name)
                                          : QObject::tr("Fold %1").arg(row->name),
                           {}});
    if (row != nullptr && row->isLane()) addOfLane(*row, options, choices);
    if (row != nullptr && (row->isLane() || row->kind == LaneRow::Kind::kHeader)) {
        choices.push_back({LaneAction::kMoveUp, QObject::tr("Move up"), u"Alt+Up"_s});
        choices.push_back({LaneAction::kMoveDown, QObject::tr("Move down"), u"Alt+Down"_s});
    }
    if (!options.hidden.empty())
        choices.push_back({LaneAction::kShowHidden,
                           QObject::tr("Show hidden lanes (%1)").arg(options.hidden.size()),
                           u"Shift+H"_s});
    choices.push_back({LaneAction::kFoldAll, QObject::tr("Fold all ranks"), u"Shift+C"_s});
    choices.push_back({LaneAction::kUnfoldAll, QObject::tr("Unfold all ranks"), u"Shift+E"_s});
    choices.push_back({LaneAction::kKinds,
                       options.nested ? QObject::tr("Show the kinds of a thread apart")
                                      : QObject::tr("Nest the kinds of a thread"),
                       u"K"_s});
    choices.push_back({LaneAction::kFilter, QObject::tr("Filter lanes…"), u"Ctrl+P"_s});
    return choices;
}

LaneLayoutOptions applied(const RecordingSummary& summary, const LaneLayout& layout,
                          LaneLayoutOptions options, LaneAction action, const LaneRow* row) {
    const bool lane = row != nullptr && row->isLane();
    switch (action) {
        case LaneAction::kFold:
            if (row == nullptr) break;
            if (row->kind == LaneRow::Kind::kGroup)
                toggle(options.toggled, GroupAddress{row->key.rank, row->group});
            else
                toggle(options.collapsed, row->key.rank);
            break;
        case LaneAction::kLevels:
            if (lane && row->allDepths > row->firstDepths()) toggle(options.expanded, row->key);
            break;
        case LaneAction::kTaller:
            if (lane && row->kind == LaneRow::Kind::kCounter) toggle(options.tall, row->key);
            break;
        case LaneAction::kPin:
            if (lane) togglePinned(options.pinned, *row);
            break;
        case LaneAction::kHide:
            if (!lane) break;
            unpin(options.pinned, *row);
            for (const LaneAddress& key : row->lanes()) options.hidden.insert(key);
            break;
        case LaneAction::kMoveUp:
        case LaneAction::kMoveDown:
            if (row != nullptr) move(layout, options, *row, action == LaneAction::kMoveUp ? -1 : 1);
            break;
        case LaneAction::kShowHidden:
            options.hidden.clear();
            break;
        case LaneAction::kFoldAll:
            for (const RankFacts& rank : summary.ranks) options.collapsed.insert(rank.rank);
            break;
        case LaneAction::kUnfoldAll:
            options.collapsed.clear();
            break;
        case LaneAction::kKinds:
            options.nested = !options.nested;
            break;
        case LaneAction::kFilter:
            break;
    }
    return options;
}

}  // namespace shardscope::desktop
