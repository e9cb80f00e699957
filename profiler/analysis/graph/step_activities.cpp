#include "profiler/analysis/graph/step_activities.h"

#include "profiler/analysis/communication/transfers.h"
#include "profiler/analysis/graph/host_line.h"
#include "profiler/analysis/intervals.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>

namespace shardscope::analysis {
namespace {

using Place = StepGraph::Place;

/// Of a rank's link or device: where it enters the graph and where it leaves.
struct Block {
    TimeRange range;
    Place entry = 0, exit = 0;
    const CollectiveEvent* event = nullptr;  ///< null: a kernel
    LaneId lane;                             ///< of a kernel
};

bool isMessage(CollectiveOp operation) {
    const CollectiveWords* words = entryOf(operation);
    return words != nullptr && words->message;
}
bool isReduction(CollectiveOp operation) {
    return operation == CollectiveOp::kReduceScatter || operation == CollectiveOp::kAllReduce;
}

/// How well a collective fits to what a phase waits for.
int fitOf(const CollectiveEvent& event, Phase phase, LayerIndex layer) {
    const bool gather = event.operation == CollectiveOp::kAllGather;
    const bool kind = phase == Phase::kWaitGather      ? gather
                      : phase == Phase::kWaitReduction ? isReduction(event.operation)
                                                       : !gather;
    return (kind ? 2 : 0) + (event.layer == layer ? 1 : 0);
}

PathKind kindOf(Phase phase, bool onDevice) {
    if (isWait(phase)) return PathKind::kBlocked;
    if (onDevice) return PathKind::kHost;
    switch (phase) {
        case Phase::kForward:
        case Phase::kHead:
        case Phase::kBackward:
        case Phase::kRecompute:
            return PathKind::kCompute;
        case Phase::kClip:
        case Phase::kOptimizer:
            return PathKind::kOptimizer;
        case Phase::kData:
            return PathKind::kData;
        case Phase::kEvaluation:
            return PathKind::kEvaluation;
        default:
            return PathKind::kHost;
    }
}

/// Embeddings are no block like the others.
std::string nameOf(const SpanEvent& phase) {
    const bool byLayer = phase.phase == Phase::kForward || phase.phase == Phase::kBackward ||
                         phase.phase == Phase::kRecompute;
    std::string name = toWord(phase.phase);
    if (byLayer && phase.layer == kRootLayer) name += " of embeddings";
    return name;
}

/// What one rank has in the graph.
struct RankPlaces {
    const RankStep* step = nullptr;
    bool onDevice = false;
    std::vector<Block> collectives;  ///< by start
    std::vector<Block> blocks;       ///< those and kernels, by end
};

void sortByEnd(std::vector<Block>& blocks) {
    std::stable_sort(blocks.begin(), blocks.end(),
                     [](const Block& a, const Block& b) { return a.range.end < b.range.end; });
}

/// Those that ended until `time`.
std::vector<Block>::const_iterator endedUntil(const std::vector<Block>& byEnd, Timestamp time) {
    return std::upper_bound(byEnd.begin(), byEnd.end(), time,
                            [](Timestamp t, const Block& block) { return t < block.range.end; });
}

class Drawing {
public:
    Drawing(TimeRange range, const std::vector<RankStep>& ranks, StepGraphs& of)
        : m_graph(range), m_of(of) {
        for (const RankStep& step : ranks) {
            RankPlaces& places = m_ranks.emplace_back();
            places.step = &step;
            places.onDevice =
                std::any_of(step.spans.begin(), step.spans.end(),
                            [](const PathSpan& span) { return span.use == SpanUse::kKernel; });
        }
    }

    StepGraph run() {
        addCollectives();
        for (RankPlaces& rank : m_ranks) addRank(rank);
        m_graph.seal();
        return std::move(m_graph);
    }

private:
    struct View {
        std::size_t rank;
        const CollectiveEvent* event;
    };
    using Views = std::vector<View>;

    // Collectives

    void addCollectives() {
        std::map<std::tuple<std::uint32_t, std::uint64_t, CollectiveOp>, Views> views;
        for (std::size_t r = 0; r < m_ranks.size(); ++r)
            for (const CollectiveEvent* event : m_ranks[r].step->collectives)
                if (event->end > m_graph.range().begin && event->end >= event->start)
                    views[{event->group, event->sequence, event->operation}].push_back({r, event});
        for (const auto& [key, each] : views) addCollective(each);
        for (RankPlaces& rank : m_ranks)
            std::stable_sort(
                rank.collectives.begin(), rank.collectives.end(),
                [](const Block& a, const Block& b) { return a.range.begin < b.range.begin; });
    }

    /// When the last rank came, as far as that is known.
    std::optional<Timestamp> metAt(const Views& views) {
        CollectiveEvent whole = *views.front().event;
        if (isMessage(whole.operation)) return std::nullopt;
        const std::size_t members = m_of.members(whole.group).size();
        const auto known = std::find_if(views.begin(), views.end(), [&](const View& view) {
            const std::size_t arrivals = view.event->arrivals.size();
            return arrivals > 1 && arrivals >= members;
        });
        if (known != views.end()) {
            whole = *known->event;
        } else {
            if (views.size() < members || views.size() < 2) return std::nullopt;
            whole.arrivals = {views.size(),
                              [&](std::size_t place) { return views[place].event->start; }};
        }
        if (!m_of.tellsLast(whole)) return std::nullopt;
        return whole.arrivals.last();
    }

    void addCollective(const Views& views) {
        const auto met = metAt(views);
        std::vector<Place> arrivals;
        for (const auto& [rank, event] : views) arrivals.push_back(addArrival(rank, *event));
        const auto joint = met ? std::optional(addMeeting(arrivals, *met)) : std::nullopt;
        for (std::size_t i = 0; i < views.size(); ++i) {
            const auto& [rank, event] = views[i];
            const Place moving = addMoving(rank, *event, met);
            m_graph.depend(moving, arrivals[i]);
            if (joint) m_graph.depend(moving, *joint);
            m_ranks[rank].collectives.push_back(
                {{event->start, event->end}, arrivals[i], moving, event, {}});
        }
    }

    /// The last arrival; on the rank of the last one that is looked at.
    Place addMeeting(const std::vector<Place>& arrivals, Timestamp met) {
        Activity last = m_graph.activities()[arrivals.front()];
        for (const Place arrival : arrivals)
            if (m_graph.activities()[arrival].range.begin > last.range.begin)
                last = m_graph.activities()[arrival];
        last.range = {met, met};
        last.before = PathKind::kWaiting;
        const Place place = m_graph.add(last);
        for (const Place arrival : arrivals) m_graph.depend(place, arrival);
        return place;
    }

    Activity activityOf(std::size_t rank, const CollectiveEvent& event) {
        Activity activity;
        activity.rank = m_ranks[rank].step->rank;
        activity.name = m_of.names().of(toWord(event.operation));
        activity.layer = event.layer;
        activity.kind = PathKind::kMoving;
        activity.before = PathKind::kLatency;
        return activity;
    }
    Place addArrival(std::size_t rank, const CollectiveEvent& event) {
        Activity arrival = activityOf(rank, event);
        arrival.range = {event.start, event.start};
        return m_graph.add(arrival);
    }
    Place addMoving(std::size_t rank, const CollectiveEvent& event, std::optional<Timestamp> met) {
        Activity moving = activityOf(rank, event);
        if (!met) moving.kind = PathKind::kCollective;
        moving.range = {met ? std::clamp(*met, event.start, event.end) : event.start, event.end};
        moving.before = PathKind::kWaiting;
        moving.gather = event.operation == CollectiveOp::kAllGather;
        moving.fixed = moves(event.operation) ? m_of.latency(event) : moving.range.duration();
        return m_graph.add(moving);
    }

    // A rank

    void addRank(RankPlaces& rank) {
        addKernels(rank);
        sortByEnd(rank.blocks);
        const std::vector<Timestamp> cuts = cutsOf(rank);
        HostLine line(m_graph, rank.step->rank, rank.step->range);
        const Needs needs(rank);
        for (const HostItem& item : tiled(itemsOf(rank), rank.step->range))
            append(item, rank, needs, cuts, line);
        m_graph.addEnd(line.last());
        askForCollectives(rank, line);
        if (rank.onDevice) orderKernels(rank, line);
    }

    /// Gathers by layer and reductions, by end.
    struct Needs {
        std::map<LayerIndex, std::vector<Block>> gathers;
        std::vector<Block> reductions;
        explicit Needs(const RankPlaces& rank) {
            for (const Block& block : rank.blocks) {
                if (block.event == nullptr) continue;
                if (block.event->operation == CollectiveOp::kAllGather)
                    gathers[block.event->layer].push_back(block);
                if (isReduction(block.event->operation)) reductions.push_back(block);
            }
        }
    };

    void append(const HostItem& item, const RankPlaces& rank, const Needs& needs,
                const std::vector<Timestamp>& cuts, HostLine& line) {
        const auto until = item.awaited == Awaited::kNothing ? std::nullopt : endOfWait(item, rank);
        if (until) return line.appendWait(item, *until, cuts);
        const Place place = line.append(item, cuts);
        if (rank.onDevice || !isWork(item.phase)) return;
        const bool updates = item.kind == PathKind::kOptimizer;
        const auto gathers = needs.gathers.find(item.layer);
        if (!updates && gathers == needs.gathers.end()) return;
        const std::vector<Block>& needed = updates ? needs.reductions : gathers->second;
        const auto after = endedUntil(needed, item.range.begin);
        if (after != needed.begin()) m_graph.depend(place, std::prev(after)->exit);
    }

    /// The best that ended within the wait, the latest of equals.
    static std::optional<Place> endOfWait(const HostItem& wait, const RankPlaces& rank) {
        std::optional<Place> best;
        int bestFit = -1;
        for (auto each = endedUntil(rank.blocks, wait.range.end); each != rank.blocks.begin();) {
            --each;
            if (each->range.end <= wait.range.begin) break;
            const bool device = wait.awaited == Awaited::kDevice;
            if (!device && each->event == nullptr) continue;
            const int fit = device ? 0 : fitOf(*each->event, wait.phase, wait.layer);
            if (fit <= bestFit) continue;
            bestFit = fit;
            best = each->exit;
            if (device || fit == 3) break;
        }
        return best;
    }

    std::vector<HostItem> itemsOf(const RankPlaces& rank) {
        std::vector<HostItem> items;
        for (const SpanEvent& phase : rank.step->phases)
            items.push_back({phase.range(), kindOf(phase.phase, rank.onDevice),
                             m_of.names().of(nameOf(phase)), phase.layer, phase.phase,
                             isWait(phase.phase) ? Awaited::kCollective : Awaited::kNothing});
        for (const PathSpan& span : rank.step->spans) {
            if (span.use == SpanUse::kOperator && rank.step->phases.empty())
                items.push_back({span.range, PathKind::kHost, span.name, span.layer});
            if (span.use == SpanUse::kLaunch && rank.onDevice)
                items.push_back({span.range, PathKind::kLaunch, span.name, span.layer});
            if (span.use == SpanUse::kSync && rank.onDevice)
                items.push_back({span.range, PathKind::kBlocked, span.name, span.layer,
                                 Phase::kNone, Awaited::kDevice});
        }
        return items;
    }

    /// Where collectives are asked for and kernels launched.
    static std::vector<Timestamp> cutsOf(const RankPlaces& rank) {
        std::vector<Timestamp> cuts;
        for (const Block& block : rank.collectives)
            if (knowsIssue(*block.event, rank)) cuts.push_back(block.event->issue);
        for (const PathSpan& span : rank.step->spans)
            if (span.use == SpanUse::kLaunch && rank.onDevice) cuts.push_back(span.range.begin);
        std::sort(cuts.begin(), cuts.end());
        return cuts;
    }
    /// Imported kernels say when they ran, not when they were asked for.
    static bool knowsIssue(const CollectiveEvent& event, const RankPlaces& rank) {
        if (event.issue.ns == 0) return false;
        return rank.onDevice ? event.issue < event.start : event.issue <= event.start;
    }

    void askForCollectives(const RankPlaces& rank, const HostLine& line) {
        std::map<std::uint32_t, const Block*> before;  // by group
        const Block* last = nullptr;
        for (const Block& block : rank.collectives) {
            if (knowsIssue(*block.event, rank))
                if (const auto asked = line.at(block.event->issue))
                    m_graph.depend(block.entry, *asked);
            const Block*& own = before[block.event->group];
            if (own != nullptr) m_graph.depend(block.entry, own->exit);
            if (last != nullptr && last != own && isQueued(block, *last))
                m_graph.depend(block.entry, last->exit);
            own = last = &block;
        }
    }
    /// It ended just before this began, and after this was asked for.
    static bool isQueued(const Block& block, const Block& before) {
        const Duration gap = block.range.begin - before.range.end;
        const Duration delay = block.range.begin - block.event->issue;
        return gap.ns >= 0 && before.range.end > block.event->issue && 2 * gap.ns < delay.ns;
    }

    // Kernels

    void addKernels(RankPlaces& rank) {
        std::map<TimeRangeKey, std::size_t> known;
        for (std::size_t i = 0; i < rank.collectives.size(); ++i)
            known[keyOf(rank.collectives[i].range)] = i;
        for (const PathSpan& span : rank.step->spans) {
            const bool runs = span.use == SpanUse::kKernel || span.use == SpanUse::kCopy ||
                              span.use == SpanUse::kCommunication;
            if (!runs || span.range.end <= m_graph.range().begin) continue;
            const auto collective = known.find(keyOf(span.range));
            if (span.use == SpanUse::kCommunication && collective != known.end()) {
                rank.collectives[collective->second].lane = span.lane;
                continue;
            }
            const Place place = addKernel(span, rank.step->rank);
            rank.blocks.push_back({span.range, place, place, nullptr, span.lane});
        }
        rank.blocks.insert(rank.blocks.end(), rank.collectives.begin(), rank.collectives.end());
    }
    using TimeRangeKey = std::pair<std::int64_t, std::int64_t>;
    static TimeRangeKey keyOf(TimeRange range) { return {range.begin.ns, range.end.ns}; }

    Place addKernel(const PathSpan& span, RankId rank) {
        Activity kernel;
        kernel.rank = rank;
        kernel.kind = span.use == SpanUse::kKernel ? PathKind::kCompute
                      : span.use == SpanUse::kCopy ? PathKind::kCopy
                                                   : PathKind::kCollective;
        kernel.before = PathKind::kLaunch;
        kernel.name = span.name;
        kernel.layer = span.layer;
        kernel.range = span.range;
        return m_graph.add(kernel);
    }

    /// Launch, stream, other stream.
    void orderKernels(const RankPlaces& rank, const HostLine& line) {
        std::unordered_map<std::uint64_t, Timestamp> launches;
        for (const PathSpan& span : rank.step->spans)
            if (span.use == SpanUse::kLaunch) launches.emplace(span.correlation, span.range.begin);
        std::map<TimeRangeKey, Timestamp> launched = launchedAt(rank, launches);
        std::map<LaneId, const Block*> lastOf;
        for (const Block& block : rank.blocks) {
            Timestamp ready{};
            const auto launch = launched.find(keyOf(block.range));
            if (launch != launched.end()) {
                if (const auto asked = line.at(launch->second);
                    asked && m_graph.depend(block.entry, *asked))
                    ready = launch->second;
            }
            const bool onStream = block.lane != LaneId{};
            const Block*& before = lastOf[block.lane];
            if (onStream && before != nullptr && m_graph.depend(block.entry, before->exit))
                ready = std::max(ready, before->range.end);
            before = &block;
            const auto after = endedUntil(rank.blocks, block.range.begin);
            if (after == rank.blocks.begin()) continue;
            const Block& other = *std::prev(after);
            if (other.range.end > ready && block.range.begin - other.range.end <= kHandover)
                m_graph.depend(block.entry, other.exit);
        }
    }
    /// Kernels of one time and different launches are rare; either may stand for the other.
    static std::map<TimeRangeKey, Timestamp> launchedAt(
        const RankPlaces& rank, const std::unordered_map<std::uint64_t, Timestamp>& launches) {
        std::map<TimeRangeKey, Timestamp> at;
        for (const PathSpan& span : rank.step->spans) {
            const bool runs = span.use != SpanUse::kLaunch && span.use != SpanUse::kSync &&
                              span.use != SpanUse::kOperator;
            if (!runs || span.correlation == 0) continue;
            const auto found = launches.find(span.correlation);
            if (found != launches.end()) at.emplace(keyOf(span.range), found->second);
        }
        return at;
    }

    StepGraph m_graph;
    StepGraphs& m_of;
    std::vector<RankPlaces> m_ranks;
};

}  // namespace

StepGraphs::StepGraphs(const std::vector<RankEvents>& ranks, const HostClocks& clocks,
                       PathNames& names)
    : m_ranks(ranks), m_clocks(clocks), m_names(names) {
    for (const TransferClass& each : classesOf(transfersOf(ranks, clocks)))
        if (each.fit)
            m_latencies[{each.operation, each.group}] = {
                static_cast<std::int64_t>(each.fit->latencyNs)};
}

StepGraph StepGraphs::of(TimeRange range, const std::vector<RankStep>& ranks) {
    return Drawing(range, ranks, *this).run();
}

const std::vector<RankId>& StepGraphs::members(std::uint32_t group) {
    const auto [found, fresh] = m_members.try_emplace(group);
    if (fresh) found->second = groupMembers(m_ranks, group);
    return found->second;
}

Duration StepGraphs::latency(const CollectiveEvent& event) const {
    const auto found = m_latencies.find({event.operation, event.group});
    return found == m_latencies.end() ? Duration{} : found->second;
}

bool StepGraphs::tellsLast(const CollectiveEvent& event) {
    if (m_clocks.tellsLast(event, members(event.group))) return true;
    ++m_refused;
    return false;
}

}  // namespace shardscope::analysis
