#include "app/desktop/pages/timeline/lanes/lane_layout.h"

#include <algorithm>

namespace shardscope::desktop {
namespace {

void addLanesOf(const LaneRow& row, std::vector<LaneAddress>& keys) {
    if (row.isLane() && row.parts.empty()) keys.push_back(row.key);
    for (const LaneAddress& part : row.parts)
        if (std::find(keys.begin(), keys.end(), part) == keys.end()) keys.push_back(part);
}

}  // namespace

int LaneRow::firstDepths() const {
    return kind == Kind::kTrack ? kFirstTrackDepths : kFirstDepths;
}

const LaneRow* LaneLayout::rowAt(int y) const {
    const auto at = std::partition_point(rows.begin(), rows.end(),
                                         [y](const LaneRow& row) { return row.bottom() <= y; });
    return at != rows.end() && at->y <= y ? &*at : nullptr;
}

const LaneRow* LaneLayout::row(LaneAddress key) const {
    const LaneRow* summary = nullptr;
    for (const LaneRow& row : rows) {
        if (row.key.rank != key.rank) continue;
        const bool holds = std::find(row.parts.begin(), row.parts.end(), key) != row.parts.end();
        if (row.isLane() && (row.key == key || holds)) return &row;
        if (holds) summary = &row;
    }
    return summary;
}

std::span<const LaneRow> LaneLayout::between(int top, int bottom) const {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(pinned);
    const auto first = std::partition_point(
        begin, rows.end(), [top](const LaneRow& row) { return row.bottom() <= top; });
    const auto last = std::partition_point(first, rows.end(),
                                           [bottom](const LaneRow& row) { return row.y < bottom; });
    return {first, last};
}

std::vector<LaneAddress> LaneLayout::loadedLanes() const {
    return loadedLanes(0, height);
}

std::vector<LaneAddress> LaneLayout::loadedLanes(int top, int bottom) const {
    std::vector<LaneAddress> keys;
    for (std::size_t i = 0; i < pinned; ++i) addLanesOf(rows[i], keys);
    for (const LaneRow& row : between(top, bottom)) addLanesOf(row, keys);
    return keys;
}

std::vector<std::vector<LaneAddress>> LaneLayout::loadedTracks(int top, int bottom) const {
    std::vector<std::vector<LaneAddress>> tracks;
    const auto add = [&tracks](const LaneRow& row) {
        if (row.kind == LaneRow::Kind::kTrack) tracks.push_back(row.parts);
    };
    std::for_each_n(rows.begin(), pinned, add);
    std::ranges::for_each(between(top, bottom), add);
    return tracks;
}

StickyHeaders LaneLayout::stickyAt(int top) const {
    StickyHeaders sticky;
    const int line = top + pinnedHeight;
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(pinned);
    auto at = std::partition_point(begin, rows.end(),
                                   [line](const LaneRow& row) { return row.y < line; });
    const auto isRank = [](const LaneRow& row) { return row.kind == LaneRow::Kind::kHeader; };
    const auto next = std::find_if(at, rows.end(), isRank);
    while (at != begin && !isRank(*--at)) {
    }
    if (at == rows.end() || !isRank(*at) || at->collapsed || at->y >= line) return sticky;
    sticky.rank = &*at;
    const int end = next != rows.end() ? next->y : height;
    sticky.rankY = std::min(0, end - line - at->height);
    const int below = line + at->height;
    const LaneRow* following = nullptr;
    for (auto row = at + 1; row != next; ++row) {
        if (row->kind != LaneRow::Kind::kGroup) continue;
        if (row->y < below) {
            sticky.group = &*row;
        } else {
            following = &*row;
            break;
        }
    }
    if (sticky.group == nullptr) return sticky;
    const int groupEnd = following != nullptr ? following->y : end;
    sticky.groupY =
        sticky.rankY + at->height + std::min(0, groupEnd - below - sticky.group->height);
    if (sticky.group->collapsed) sticky.group = nullptr;
    return sticky;
}

}  // namespace shardscope::desktop
