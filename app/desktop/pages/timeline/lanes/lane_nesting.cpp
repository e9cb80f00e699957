#include "app/desktop/pages/timeline/lanes/lane_nesting.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace shardscope::desktop {
namespace {

constexpr int kDeepest = std::numeric_limits<std::uint8_t>::max();
/// Of a picture there are some thousands.
constexpr std::int64_t kMostCells = 1 << 20;

struct Placed {
    TimeRange range;
    std::size_t lane = 0, index = 0;
    int level = 0;
};

using Open = std::vector<const Placed*>;

void close(Open& open, Timestamp at) {
    std::erase_if(open, [at](const Placed* one) { return one->range.end <= at; });
}

/// Below all that contain it, on the first level that none of `open` is on.
int freeLevel(const Open& open, Timestamp end) {
    int level = 0;
    for (const Placed* one : open)
        if (one->range.end >= end) level = std::max(level, one->level + 1);
    const auto isTaken = [&open, &level] {
        return std::any_of(open.begin(), open.end(),
                           [level](const Placed* one) { return one->level == level; });
    };
    while (level < kDeepest && isTaken()) ++level;
    return std::min(level, kDeepest);
}

/// What is exact, by begin, the longer and then the outer first; levels set.
std::vector<Placed> placeExact(const std::vector<NestedLane>& lanes) {
    std::vector<Placed> placed;
    for (std::size_t lane = 0; lane < lanes.size(); ++lane)
        for (std::size_t i = 0; i < lanes[lane].slices.size(); ++i)
            if (lanes[lane].slices[i].exact)
                placed.push_back({lanes[lane].slices[i].range, lane, i, 0});
    // within a lane they are by depth: the outer of two equal ones has the lower index
    std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
        return std::tuple(a.range.begin.ns, -a.range.end.ns, a.lane, a.index) <
               std::tuple(b.range.begin.ns, -b.range.end.ns, b.lane, b.index);
    });
    Open open;
    for (Placed& one : placed) {
        close(open, one.range.begin);
        one.level = freeLevel(open, one.range.end);
        open.push_back(&one);  // `placed` grows no more
    }
    return placed;
}

/// The exact slices around narrow ones of a tier, which are asked for by begin.
class Around {
public:
    Around(const std::vector<Placed>& exact, const std::vector<NestedLane>& lanes, int tier,
           std::size_t lane)
        : m_exact(exact), m_lanes(lanes), m_tier(tier), m_lane(lane) {}

    /// One below the deepest of them. Those of other lanes of the tier run before or after.
    int levelBelow(TimeRange range) {
        close(m_open, range.begin);
        const auto end = std::max(range.end.ns, range.begin.ns + 1);
        for (; m_next < m_exact.size() && m_exact[m_next].range.begin.ns < end; ++m_next) {
            const Placed& one = m_exact[m_next];
            const bool isBeside = one.lane != m_lane && m_lanes[one.lane].tier == m_tier;
            if (!isBeside && one.range.end > range.begin) m_open.push_back(&one);
        }
        int level = 0;
        for (const Placed* one : m_open) level = std::max(level, one->level + 1);
        return level;
    }

private:
    const std::vector<Placed>& m_exact;
    const std::vector<NestedLane>& m_lanes;
    int m_tier;
    std::size_t m_lane;
    Open m_open;
    std::size_t m_next = 0;
};

/// How high narrow slices stand in each cell so far. Cells count from zero, not from where one
/// looks.
class Heights {
public:
    Heights(TimeRange range, Duration cell)
        : m_cell(std::max(cell.ns, range.duration().ns / kMostCells + 1)),
          m_first(cellOf(range.begin.ns)) {
        m_heights.resize(static_cast<std::size_t>(cellOf(range.end.ns) - m_first) + 1);
    }

    [[nodiscard]] int over(TimeRange range) const {
        int height = 0;
        for (std::size_t at = indexOf(range.begin.ns), last = lastOf(range); at <= last; ++at)
            height = std::max(height, m_heights[at]);
        return height;
    }
    void raise(TimeRange range, int height) {
        for (std::size_t at = indexOf(range.begin.ns), last = lastOf(range); at <= last; ++at)
            m_heights[at] = std::max(m_heights[at], height);
    }

private:
    [[nodiscard]] std::int64_t cellOf(std::int64_t ns) const {
        return ns / m_cell - (ns % m_cell < 0 ? 1 : 0);
    }
    [[nodiscard]] std::size_t indexOf(std::int64_t ns) const {
        return static_cast<std::size_t>(cellOf(ns) - m_first);
    }
    [[nodiscard]] std::size_t lastOf(TimeRange range) const {
        return indexOf(std::max(range.begin.ns, range.end.ns - 1));
    }

    std::int64_t m_cell, m_first;
    std::vector<int> m_heights;
};

/// Of narrow slices of one tier and depth: those of its lanes do not lift each other.
struct Row {
    int tier = 0;
    std::uint8_t depth = 0;
    std::size_t lane = 0, begin = 0, end = 0;
    [[nodiscard]] auto key() const { return std::tuple(tier, depth); }
};

/// From the outermost in.
std::vector<Row> rowsOf(const std::vector<NestedLane>& lanes) {
    std::vector<Row> rows;
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        const auto& slices = lanes[lane].slices;
        for (std::size_t begin = 0; begin < slices.size();) {
            std::size_t end = begin;
            while (end < slices.size() && slices[end].depth == slices[begin].depth) ++end;
            rows.push_back({lanes[lane].tier, slices[begin].depth, lane, begin, end});
            begin = end;
        }
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.key() < b.key(); });
    return rows;
}

/// Of all narrow slices; empty where there are none.
TimeRange boundsOfNarrow(const std::vector<NestedLane>& lanes) {
    TimeRange bounds{};
    bool isFirst = true;
    for (const NestedLane& lane : lanes)
        for (const NestedSlice& slice : lane.slices) {
            if (slice.exact) continue;
            const Timestamp end = std::max(slice.range.begin, slice.range.end);
            bounds.begin = isFirst ? slice.range.begin : std::min(bounds.begin, slice.range.begin);
            bounds.end = isFirst ? end : std::max(bounds.end, end);
            isFirst = false;
        }
    return bounds;
}

using Levels = std::vector<std::vector<std::uint8_t>>;

void placeNarrow(const std::vector<NestedLane>& lanes, Duration cell,
                 const std::vector<Placed>& exact, Levels& levels) {
    Heights heights(boundsOfNarrow(lanes), cell);
    const std::vector<Row> rows = rowsOf(lanes);
    const auto forNarrow = [&](const Row& row, auto use) {
        for (std::size_t i = row.begin; i < row.end; ++i)
            if (const NestedSlice& slice = lanes[row.lane].slices[i]; !slice.exact)
                use(slice.range, levels[row.lane][i]);
    };
    for (auto first = rows.begin(); first != rows.end();) {
        const auto last = std::find_if(first, rows.end(),
                                       [&](const Row& row) { return row.key() != first->key(); });
        for (auto row = first; row != last; ++row) {
            Around around(exact, lanes, row->tier, row->lane);
            forNarrow(*row, [&](TimeRange range, std::uint8_t& level) {
                level = static_cast<std::uint8_t>(
                    std::min(kDeepest, std::max(around.levelBelow(range), heights.over(range))));
            });
        }
        for (; first != last; ++first)
            forNarrow(*first, [&](TimeRange range, std::uint8_t level) {
                heights.raise(range, level + 1);
            });
    }
}

}  // namespace

Levels nestedLevels(const std::vector<NestedLane>& lanes, Duration cell) {
    Levels levels;
    for (const NestedLane& lane : lanes) levels.emplace_back(lane.slices.size());
    const std::vector<Placed> exact = placeExact(lanes);
    for (const Placed& one : exact)
        levels[one.lane][one.index] = static_cast<std::uint8_t>(one.level);
    placeNarrow(lanes, cell, exact, levels);
    return levels;
}

}  // namespace shardscope::desktop
