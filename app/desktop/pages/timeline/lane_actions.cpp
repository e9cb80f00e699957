#include "app/desktop/pages/timeline/lane_actions.h"

#include <QObject>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

template <class Set, class Value>
void toggle(Set& set, const Value& value) {
    if (!set.insert(value).second) set.erase(value);
}

void togglePinned(std::vector<LaneAddress>& pinned, LaneAddress key) {
    const auto at = std::find(pinned.begin(), pinned.end(), key);
    if (at == pinned.end())
        pinned.push_back(key);
    else
        pinned.erase(at);
}

/// Lanes of the row's group as they lie, pinned ones left out.
std::vector<LaneId> lanesOfGroup(const LaneLayout& layout, const LaneRow& row) {
    std::vector<LaneId> lanes;
    for (const LaneRow& other : layout.rows)
        if (other.isLane() && !other.pinned && other.key.rank == row.key.rank &&
            other.group == row.group)
            lanes.push_back(other.key.lane);
    return lanes;
}

template <class T>
void moveBy(std::vector<T>& all, const T& one, int by) {
    const auto at = std::find(all.begin(), all.end(), one);
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
        moveBy(order, row.key.rank, by);
        options.rankOrder = order;
    } else if (row.pinned) {
        moveBy(options.pinned, row.key, by);
    } else if (row.isLane()) {
        std::vector<LaneId> lanes = lanesOfGroup(layout, row);
        moveBy(lanes, row.key.lane, by);
        options.order[{row.key.rank, row.group}] = lanes;
    }
}

bool isPinned(const LaneLayoutOptions& options, LaneAddress key) {
    return std::find(options.pinned.begin(), options.pinned.end(), key) != options.pinned.end();
}

void addOfLane(const LaneRow& row, const LaneLayoutOptions& options,
               std::vector<LaneChoice>& choices) {
    if (row.allDepths > kFirstDepths)
        choices.push_back({LaneAction::kLevels,
                           options.expanded.contains(row.key)
                               ? QObject::tr("Show the first %1 levels").arg(kFirstDepths)
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
            if (lane && row->allDepths > kFirstDepths) toggle(options.expanded, row->key);
            break;
        case LaneAction::kTaller:
            if (lane && row->kind == LaneRow::Kind::kCounter) toggle(options.tall, row->key);
            break;
        case LaneAction::kPin:
            if (lane) togglePinned(options.pinned, row->key);
            break;
        case LaneAction::kHide:
            if (!lane) break;
            std::erase(options.pinned, row->key);
            options.hidden.insert(row->key);
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
        case LaneAction::kFilter:
            break;
    }
    return options;
}

}  // namespace shardscope::desktop
