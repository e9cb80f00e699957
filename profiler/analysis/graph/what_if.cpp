#include "profiler/analysis/graph/what_if.h"

#include "profiler/analysis/findings.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace shardscope::analysis {
namespace {

using Place = StepGraph::Place;

bool computes(const Activity& activity) {
    return activity.kind == PathKind::kCompute || activity.kind == PathKind::kOptimizer;
}

/// duration x part / whole without overflow, rounded down.
Duration scaled(Duration duration, Duration part, Duration whole) {
    __extension__ using Wide = __int128;
    return {static_cast<std::int64_t>(Wide{duration.ns} * part.ns / whole.ns)};
}

/// Rounded down, as scaled() is; unchanged to the nanosecond.
Duration hastened(Duration duration, double times) {
    if (times == 1) return duration;
    return {static_cast<std::int64_t>(std::floor(static_cast<double>(duration.ns) / times))};
}

/// Of a rank's activities of one name and layer together, and what they would take at the median.
struct Share {
    Duration own, median;
};

class Replay {
public:
    Replay(const StepGraph& graph, const Scenario& scenario)
        : m_graph(graph), m_scenario(scenario) {
        if (scenario.change == Change::kRankAtMedian) takeMedians();
    }

    Duration run() {
        std::vector<Timestamp> ends(m_graph.activities().size());
        for (const Place place : m_graph.order())
            ends[place] = startOf(place, ends) + durationOf(m_graph.activities()[place]);
        Timestamp last = m_graph.range().begin;
        for (const Place place : m_graph.ends()) last = std::max(last, ends[place]);
        return last - m_graph.range().begin;
    }

private:
    [[nodiscard]] Timestamp startOf(Place place, const std::vector<Timestamp>& ends) const {
        const Activity& activity = m_graph.activities()[place];
        const auto needs = m_graph.needs(place);
        if (needs.empty()) return activity.range.begin;
        Timestamp ready = m_graph.range().begin;
        for (const Place each : needs)
            if (!isDropped(m_graph.activities()[each], activity))
                ready = std::max(ready, ends[each]);
        return ready + (activity.range.begin - m_graph.readyAt(place));
    }

    /// Whether `later` no longer waits for `earlier`.
    [[nodiscard]] bool isDropped(const Activity& earlier, const Activity& later) const {
        return m_scenario.change == Change::kGathersHidden && earlier.gather &&
               !later.communicates();
    }

    [[nodiscard]] Duration durationOf(const Activity& activity) const {
        const Duration recorded = activity.range.duration();
        switch (m_scenario.change) {
            case Change::kNone:
                return recorded;
            case Change::kGathersHidden:
                return activity.waitsForGather ? Duration{} : recorded;
            case Change::kLinkTwice:
                return activity.kind == PathKind::kMoving ? moved(activity, 2) : recorded;
            case Change::kRankAtMedian:
                return atMedian(activity);
            case Change::kFaster:
                return activity.name == m_scenario.name && !activity.communicates()
                           ? scaled(recorded, {4}, {5})
                           : recorded;
            case Change::kGiven:
                return asGiven(activity);
        }
        return recorded;
    }

    /// Over a link so many times as fast.
    static Duration moved(const Activity& activity, double times) {
        const Duration recorded = activity.range.duration();
        const Duration fixed = std::clamp(activity.fixed, Duration{}, recorded);
        return fixed + hastened(recorded - fixed, times);
    }

    [[nodiscard]] Duration asGiven(const Activity& activity) const {
        double times = 1;
        for (const Speed& speed : m_scenario.speeds)
            if (isMeant(speed, activity)) times *= speed.times;
        return activity.kind == PathKind::kMoving ? moved(activity, times)
                                                  : hastened(activity.range.duration(), times);
    }

    static bool isMeant(const Speed& speed, const Activity& activity) {
        switch (speed.what) {
            case Hastened::kLink:
                return activity.kind == PathKind::kMoving;
            case Hastened::kRank:
                return activity.rank == speed.rank && computes(activity);
            case Hastened::kName:
                return activity.name == speed.name && !activity.communicates();
        }
        return false;
    }

    [[nodiscard]] Duration atMedian(const Activity& activity) const {
        const Duration recorded = activity.range.duration();
        if (activity.rank != m_scenario.rank || !computes(activity)) return recorded;
        const auto found = m_shares.find({activity.name, activity.layer});
        if (found == m_shares.end()) return recorded;
        return scaled(recorded, found->second.median, found->second.own);
    }

    void takeMedians() {
        for (const auto& [key, byRank] : computeByName(m_graph)) {
            const auto own = byRank.find(m_scenario.rank);
            if (own == byRank.end()) continue;
            std::vector<std::int64_t> times;
            for (const auto& [rank, time] : byRank) times.push_back(time.ns);
            const Duration median{medianOf(std::move(times))};
            if (median < own->second) m_shares[key] = {own->second, median};
        }
    }

    const StepGraph& m_graph;
    const Scenario m_scenario;
    std::map<std::pair<std::uint32_t, LayerIndex>, Share> m_shares;  ///< where it is slower
};

}  // namespace

Duration replay(const StepGraph& graph, const Scenario& scenario) {
    return Replay(graph, scenario).run();
}

ComputeByName computeByName(const StepGraph& graph) {
    ComputeByName compute;
    for (const Activity& activity : graph.activities())
        if (computes(activity))
            compute[{activity.name, activity.layer}][activity.rank] += activity.range.duration();
    return compute;
}

std::vector<RankId> slowRanks(const std::map<RankId, Duration>& compute) {
    if (compute.empty()) return {};
    std::vector<std::int64_t> times;
    for (const auto& [rank, time] : compute) times.push_back(time.ns);
    const auto median = static_cast<double>(medianOf(std::move(times)));
    std::vector<std::pair<Duration, RankId>> slow;
    for (const auto& [rank, time] : compute)
        if (static_cast<double>(time.ns) > (1 + kSlowRank) * median) slow.emplace_back(time, rank);
    std::stable_sort(slow.begin(), slow.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<RankId> ranks;
    for (const auto& [time, rank] : slow) ranks.push_back(rank);
    return ranks;
}

}  // namespace shardscope::analysis
