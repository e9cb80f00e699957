#include "app/desktop/pages/timeline/lane_layout.h"

#include "app/desktop/models/format.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kHeaderHeight = 22;
constexpr int kGroupHeight = 20;
constexpr int kLaneGap = 4;
constexpr int kRankGap = 6;
constexpr int kGroupIndent = 12;

/// Memory by category belongs to the Memory page; here one strip of the sum will do.
bool isShown(const LaneFacts& lane) {
    if (lane.role != LaneRole::kCounter) return true;
    return lane.lane == kMemoryTotalLane || !isMemoryLane(lane.lane);
}

int rowHeight(const LaneRow& row) {
    switch (row.role) {
        case LaneRole::kRange:
            return 16 * row.depths;
        case LaneRole::kHost:
            return 14 * row.depths;
        case LaneRole::kCommunication:
            return row.depths > 1 ? 16 * row.depths : 24;
        case LaneRole::kRuntime:
        case LaneRole::kSync:
        case LaneRole::kCopy:
            return 16;
        case LaneRole::kCounter:
            return row.key.lane == kMemoryTotalLane ? 48 : 26;
        default:
            return 24;
    }
}

const DeviceFacts* deviceOf(const RecordingSummary& summary, RankId rank) {
    for (const DeviceFacts& device : summary.devices) {
        if (device.rank == rank) return &device;
    }
    return nullptr;
}

/// A run that is still being recorded may have lanes of a device before the device's row.
bool hasDeviceLanes(const RecordingSummary& summary, RankId rank) {
    return std::any_of(summary.lanes.begin(), summary.lanes.end(), [&](const LaneFacts& lane) {
        return lane.rank == rank && isStreamLane(lane.lane);
    });
}

bool holdsOutside(const RecordingSummary& summary, RankId rank) {
    return std::any_of(summary.lanes.begin(), summary.lanes.end(), [&](const LaneFacts& lane) {
        return lane.rank == rank && lane.lane == memoryLane(MemoryCategory::kOutside);
    });
}

/// Theory knows nothing of memory outside the allocator: no line over a sum that holds it.
double theoryPeak(const RecordingSummary& summary, RankId rank) {
    if (holdsOutside(summary, rank)) return 0;
    double sum = 0;
    for (const MemoryTheory& theory : summary.memoryTheory) {
        if (theory.rank == rank) sum += static_cast<double>(theory.size.count);
    }
    return sum;
}

LaneGroup groupOf(const LaneFacts& lane) {
    if (isStreamLane(lane.lane)) return LaneGroup::kStreams;
    switch (lane.role) {
        case LaneRole::kCounter:
            return lane.lane == kMemoryTotalLane ? LaneGroup::kEngine : LaneGroup::kCounters;
        case LaneRole::kHost:
        case LaneRole::kRuntime:
        case LaneRole::kSync:
            return LaneGroup::kHost;
        default:
            return LaneGroup::kEngine;
    }
}

QString groupName(LaneGroup group, std::size_t lanes) {
    switch (group) {
        case LaneGroup::kStreams:
            return u"streams"_s;
        case LaneGroup::kHost:
            return u"host"_s;
        case LaneGroup::kCounters:
            return u"counters (%1)"_s.arg(lanes);
        case LaneGroup::kEngine:
            break;
    }
    return {};
}

bool isFolded(const LaneLayoutOptions& options, RankId rank, LaneGroup group) {
    return (group == LaneGroup::kCounters) != options.toggled.contains({rank, group});
}

/// What a stream carries, first what a reader looks for: kernels, NCCL's, copies.
int useOrder(LaneRole role) {
    switch (role) {
        case LaneRole::kCompute:
            return 0;
        case LaneRole::kCommunication:
            return 1;
        default:
            return 2;
    }
}

/// "stream 7" of "stream 7: copies"
std::string streamOf(const LaneFacts& lane) {
    return lane.name.substr(0, lane.name.find(':'));
}

/// The lanes of a stream together; the stream that computes most likely first, which is the one
/// that was seen first among those with kernels.
void sortStreams(std::vector<const LaneFacts*>& lanes) {
    std::map<std::string, std::pair<int, std::uint32_t>> firsts;
    for (const LaneFacts* lane : lanes) {
        const std::pair mine{useOrder(lane->role), lane->lane.value};
        const auto [found, isNew] = firsts.try_emplace(streamOf(*lane), mine);
        if (!isNew) found->second = std::min(found->second, mine);
    }
    std::stable_sort(lanes.begin(), lanes.end(), [&](const LaneFacts* a, const LaneFacts* b) {
        return std::tuple(firsts[streamOf(*a)], useOrder(a->role), a->lane) <
               std::tuple(firsts[streamOf(*b)], useOrder(b->role), b->lane);
    });
}

/// Where a rank is; nothing where all are on one host.
QString hostNote(const RecordingSummary& summary, RankId rank) {
    if (summary.hosts.size() < 2) return {};
    for (const RankFacts& facts : summary.ranks)
        if (facts.rank == rank)
            for (const HostFacts& host : summary.hosts)
                if (host.host == facts.host) return u"on %1"_s.arg(fromUtf8(host.name));
    return {};
}

/// Lays out one recording; `y` runs down over all ranks.
class Layouter {
public:
    Layouter(const RecordingSummary& summary, const LaneLayoutOptions& options)
        : m_summary(summary), m_options(options) {}

    void addRank(RankId rank) {
        const DeviceFacts* device = deviceOf(m_summary, rank);
        LaneRow header;
        header.kind = LaneRow::Kind::kHeader;
        header.key.rank = rank;
        header.name = u"rank %1"_s.arg(rank.value);
        header.collapsed = m_options.collapsed.contains(rank);
        header.note = hostNote(m_summary, rank);
        if (device != nullptr) {
            if (!header.note.isEmpty()) header.note += u" · "_s;
            header.note += fromUtf8(device->name);
            header.warns = device->sharedBy > 1;
            if (header.warns) header.note += u" · shared by %1 ranks"_s.arg(device->sharedBy);
            if (device->tracing.starts_with("not traced"))
                header.note += u" · "_s + fromUtf8(device->tracing);
        }
        add(header, kHeaderHeight, 0);
        if (header.collapsed || !(device != nullptr || hasDeviceLanes(m_summary, rank))) {
            addPlain(rank, header.collapsed);
        } else {
            for (LaneGroup group :
                 {LaneGroup::kEngine, LaneGroup::kStreams, LaneGroup::kHost, LaneGroup::kCounters})
                addGroup(rank, group);
        }
        m_y += kRankGap;
    }

    LaneLayout take() {
        m_layout.height = m_y;
        return std::move(m_layout);
    }

private:
    void add(LaneRow row, int height, int gap) {
        row.y = m_y;
        row.height = height;
        m_y += height + gap;
        m_layout.rows.push_back(std::move(row));
    }

    void addLane(const LaneFacts& lane, LaneGroup group) {
        LaneRow row;
        row.key = {lane.rank, lane.lane};
        row.role = lane.role;
        row.group = group;
        row.onDevice = isStreamLane(lane.lane);
        row.name = lane.lane == kMemoryTotalLane ? u"memory"_s : fromUtf8(lane.name);
        row.unit = fromUtf8(lane.unit);
        row.indent = group == LaneGroup::kEngine ? 0 : kGroupIndent;
        row.kind =
            lane.role == LaneRole::kCounter ? LaneRow::Kind::kCounter : LaneRow::Kind::kSpans;
        if (lane.role == LaneRole::kHost) row.depths = m_options.operatorDepths;
        if (lane.role == LaneRole::kRange) row.depths = 2;  // steps, and their stretches below
        // Of ranks on several hosts: collectives, and what was between and inside hosts below.
        if (lane.role == LaneRole::kCommunication && !row.onDevice && m_summary.hosts.size() > 1)
            row.depths = 2;
        if (lane.lane == kMemoryTotalLane) row.theoryBytes = theoryPeak(m_summary, lane.rank);
        add(row, rowHeight(row), kLaneGap);
    }

    /// A folded rank keeps its summary: what the step thread does.
    void addPlain(RankId rank, bool folded) {
        for (const LaneFacts& lane : m_summary.lanes) {
            if (lane.rank != rank || !isShown(lane)) continue;
            if (folded && (lane.role != LaneRole::kCompute || isStreamLane(lane.lane))) continue;
            addLane(lane, LaneGroup::kEngine);
        }
    }

    void addGroup(RankId rank, LaneGroup group) {
        std::vector<const LaneFacts*> lanes;
        for (const LaneFacts& lane : m_summary.lanes) {
            if (lane.rank == rank && isShown(lane) && groupOf(lane) == group)
                lanes.push_back(&lane);
        }
        if (lanes.empty()) return;
        if (group == LaneGroup::kStreams) sortStreams(lanes);
        if (group != LaneGroup::kEngine) {
            LaneRow header;
            header.kind = LaneRow::Kind::kGroup;
            header.key.rank = rank;
            header.group = group;
            header.name = groupName(group, lanes.size());
            header.collapsed = isFolded(m_options, rank, group);
            add(header, kGroupHeight, 0);
            if (header.collapsed) return;
        }
        for (const LaneFacts* lane : lanes) addLane(*lane, group);
    }

    const RecordingSummary& m_summary;
    const LaneLayoutOptions& m_options;
    LaneLayout m_layout;
    int m_y = 0;
};

}  // namespace

const LaneRow* LaneLayout::rowAt(int y) const {
    for (const LaneRow& row : rows) {
        if (y >= row.y && y < row.y + row.height) return &row;
    }
    return nullptr;
}

const LaneRow* LaneLayout::row(LaneAddress key) const {
    for (const LaneRow& row : rows) {
        if (row.isLane() && row.key == key) return &row;
    }
    return nullptr;
}

std::vector<LaneAddress> LaneLayout::loadedLanes() const {
    std::vector<LaneAddress> keys;
    for (const LaneRow& row : rows) {
        if (row.isLane()) keys.push_back(row.key);
    }
    return keys;
}

LaneLayout layOutLanes(const RecordingSummary& summary, const LaneLayoutOptions& options) {
    Layouter layouter(summary, options);
    for (const RankFacts& rank : summary.ranks) {
        const bool shown =
            options.ranks.empty() ||
            std::find(options.ranks.begin(), options.ranks.end(), rank.rank) != options.ranks.end();
        if (shown) layouter.addRank(rank.rank);
    }
    return layouter.take();
}

LaneLayoutOptions revealing(const RecordingSummary& summary, LaneLayoutOptions options,
                            LaneAddress key) {
    options.collapsed.erase(key.rank);
    for (const LaneFacts& lane : summary.lanes) {
        if (lane.rank != key.rank || lane.lane != key.lane) continue;
        const std::pair group{key.rank, groupOf(lane)};
        if (!isFolded(options, group.first, group.second)) continue;
        if (!options.toggled.insert(group).second) options.toggled.erase(group);
    }
    return options;
}

}  // namespace shardscope::desktop
