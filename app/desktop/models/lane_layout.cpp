#include "app/desktop/models/lane_layout.h"

#include "app/desktop/models/format.h"

#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kHeaderHeight = 22;
constexpr int kLaneGap = 4;
constexpr int kRankGap = 6;

/// Memory by category belongs to the Memory page; here one strip of the sum will do.
bool isShown(const LaneFacts& lane) {
    if (lane.role != LaneRole::kCounter) return true;
    return lane.lane == kMemoryTotalLane ||
           lane.lane.value < memoryLane(MemoryCategory::kOther).value;
}

int rowHeight(const LaneRow& row) {
    switch (row.role) {
        case LaneRole::kRange:
            return 16 * row.depths;
        case LaneRole::kHost:
        case LaneRole::kRuntime:
            return 12 * row.depths;
        case LaneRole::kCounter:
            return row.key.lane == kMemoryTotalLane ? 48 : 24;
        default:
            return 24;
    }
}

double theoryPeak(const RecordingSummary& summary, RankId rank) {
    double sum = 0;
    for (const MemoryTheory& theory : summary.memoryTheory) {
        if (theory.rank == rank) sum += static_cast<double>(theory.size.count);
    }
    return sum;
}

LaneRow rowOf(const RecordingSummary& summary, const LaneFacts& lane, int operatorDepths) {
    LaneRow row;
    row.key = {lane.rank, lane.lane};
    row.role = lane.role;
    row.name = fromUtf8(lane.name);
    row.unit = fromUtf8(lane.unit);
    row.kind = lane.role == LaneRole::kCounter ? LaneRow::Kind::kCounter : LaneRow::Kind::kSpans;
    if (lane.role == LaneRole::kHost) row.depths = operatorDepths;
    if (lane.role == LaneRole::kRange) row.depths = 2;  // steps, and their stretches below
    if (lane.lane == kMemoryTotalLane) {
        row.name = u"memory"_s;
        row.theoryBytes = theoryPeak(summary, lane.rank);
    }
    return row;
}

}  // namespace

const LaneRow* LaneLayout::rowAt(int y) const {
    for (const LaneRow& row : rows) {
        if (y >= row.y && y < row.y + row.height) return &row;
    }
    return nullptr;
}

const LaneRow* LaneLayout::row(LaneKey key) const {
    for (const LaneRow& row : rows) {
        if (row.kind != LaneRow::Kind::kHeader && row.key == key) return &row;
    }
    return nullptr;
}

std::vector<LaneKey> LaneLayout::loadedLanes() const {
    std::vector<LaneKey> keys;
    for (const LaneRow& row : rows) {
        if (row.kind != LaneRow::Kind::kHeader) keys.push_back(row.key);
    }
    return keys;
}

LaneLayout layOutLanes(const RecordingSummary& summary, const LaneLayoutOptions& options) {
    LaneLayout layout;
    int y = 0;
    const auto add = [&](LaneRow row, int height, int gap) {
        row.y = y;
        row.height = height;
        y += height + gap;
        layout.rows.push_back(std::move(row));
    };
    for (const RankFacts& rank : summary.ranks) {
        if (!options.ranks.empty() && std::find(options.ranks.begin(), options.ranks.end(),
                                                rank.rank) == options.ranks.end()) {
            continue;
        }
        LaneRow header;
        header.kind = LaneRow::Kind::kHeader;
        header.key.rank = rank.rank;
        header.name = u"rank %1"_s.arg(rank.rank.value);
        header.collapsed = options.collapsed.contains(rank.rank);
        add(header, kHeaderHeight, 0);
        for (const LaneFacts& lane : summary.lanes) {
            if (lane.rank != rank.rank || !isShown(lane)) continue;
            // a folded rank keeps its summary: what the step thread does
            if (header.collapsed && lane.role != LaneRole::kCompute) continue;
            const LaneRow row = rowOf(summary, lane, options.operatorDepths);
            add(row, rowHeight(row), kLaneGap);
        }
        y += kRankGap;
    }
    layout.height = y;
    return layout;
}

}  // namespace shardscope::desktop
