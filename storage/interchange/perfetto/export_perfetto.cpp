// A recording as a Perfetto trace: a process a rank, a track a lane, counters, flows, arguments.
#include "storage/interchange/formats.h"
#include "storage/interchange/formats/export_scope.h"
#include "storage/interchange/formats/nested_tracks.h"
#include "storage/interchange/output_kind.h"
#include "storage/interchange/perfetto/descriptions.h"
#include "storage/interchange/perfetto/fact_instants.h"
#include "storage/interchange/perfetto/track_writer.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <tuple>
#include <vector>

namespace shardscope::interchange {
namespace {

enum class FlowKind : std::uint8_t { kLaunch = 1, kBackward = 2, kStored = 3 };

/// An end of a stored arrow, by the span it is bound to.
struct BoundFlow {
    Timestamp spanStart;
    std::uint8_t depth = 0;
    bool end = false;
    std::uint64_t id = 0;
    friend bool operator<(const BoundFlow& a, const BoundFlow& b) {
        return std::tuple(a.spanStart, a.depth) < std::tuple(b.spanStart, b.depth);
    }
};

/// 64 well mixed bits (splitmix64's finaliser), never 0.
std::uint64_t flowId(RankId rank, FlowKind kind, std::uint64_t correlation) {
    std::uint64_t x = correlation + (std::uint64_t{rank.value} * 4 + static_cast<unsigned>(kind)) *
                                        0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return x == 0 ? 1 : x;
}

CounterUnit unitOf(const std::string& unit) {
    if (unit == "bytes") return CounterUnit::kBytes;
    if (unit == "ns") return CounterUnit::kNanoseconds;
    if (unit == "1") return CounterUnit::kCount;
    return CounterUnit::kNone;
}

class PerfettoExport {
public:
    PerfettoExport(ExportScope& scope, ExportWriter& writer)
        : m_scope(scope), m_tracks(writer, shiftOf(scope), scope.summary().run.startedUnixNs) {}

    Result<void> rank(RankId rank) {
        const RecordingSummary& summary = m_scope.summary();
        ProcessDescription description{{}, summary.run, shiftOf(m_scope)};
        for (const RankFacts& facts : summary.ranks)
            if (facts.rank == rank) description.rank = facts;
        description.rank.rank = rank;
        const auto process =
            m_tracks.addProcess(pidOf(rank), rankTitle(summary, rank), describe(description));
        auto stored = m_scope.reader().query("SELECT count(*) FROM chunks WHERE kind=5 AND rank=" +
                                             std::to_string(rank.value));
        if (!stored) return failure(stored);
        m_storedFlows = stored->rows.at(0).at(0) != "0";
        for (const LaneFacts& lane : m_scope.lanes(rank)) {
            auto done =
                lane.role == LaneRole::kCounter ? counter(process, lane) : spans(process, lane);
            if (!done) return done;
        }
        return facts(process, rank);
    }
    [[nodiscard]] std::uint64_t events() const { return m_events; }

private:
    struct Nothing {};
    using Tracks = NestedTracks<Nothing>;

    static Duration shiftOf(const ExportScope& scope) {
        return {std::max<std::int64_t>(0, -scope.summary().bounds.begin.ns)};
    }
    /// The rank's own where it tells ranks apart; Perfetto would merge equal ones of two hosts.
    [[nodiscard]] std::int32_t pidOf(RankId rank) const {
        std::set<std::int64_t> pids;
        std::int64_t own = 0;
        for (const RankFacts& facts : m_scope.summary().ranks) {
            pids.insert(facts.pid);
            if (facts.rank == rank) own = facts.pid;
        }
        const bool distinct = pids.size() == m_scope.summary().ranks.size();
        if (distinct && own > 0 && own <= std::numeric_limits<std::int32_t>::max())
            return static_cast<std::int32_t>(own);
        return static_cast<std::int32_t>(rank.value) + 1;
    }

    Result<void> counter(TrackWriter::Uuid process, const LaneFacts& lane) {
        const auto track = m_tracks.addCounter(process, lane, unitOf(lane.unit), describe(lane));
        return m_scope.forEachSample(lane, [&](Timestamp time, double value) {
            m_tracks.sample(track, time, value);
            ++m_events;
        });
    }

    /// What lies on no lane: instants on a track of their own, behind the lanes.
    Result<void> facts(TrackWriter::Uuid process, RankId rank) {
        storage::RecordingReader& reader = m_scope.reader();
        TrackWriter::Uuid track = 0;
        const auto instant = [&](Timestamp time, std::string_view name, std::string_view category,
                                 const std::string& fact) {
            if (track == 0)
                track = m_tracks.addTrack(process, "memory, collectives, flows, steps, metrics",
                                          describeFacts());
            m_tracks.annotateFact(fact);
            m_tracks.instant(track, time, {name, category});
            ++m_events;
        };
        auto done = m_scope.forEachMemoryEvent(rank, [&](const MemoryEvent& event) {
            const std::string arguments(reader.text(rank, event.arguments));
            instant(event.time, reader.text(rank, event.owner), kMemoryFact,
                    factOf(event, arguments));
        });
        for (const LaneFacts& lane : m_scope.lanes(rank))
            if (done)
                done = m_scope.forEachFlow(lane, [&](const FlowEvent& event) {
                    const std::string arguments(reader.text(rank, event.arguments));
                    instant(event.time, reader.text(rank, event.name), kFlowFact,
                            factOf(event, {reader.text(rank, event.category),
                                           reader.text(rank, event.idText), arguments}));
                });
        if (!done) return done;
        for (const TimeRange window : m_scope.windows(rank, m_scope.summary().events.spans)) {
            auto events = reader.rankEvents(rank, window);
            if (!events) return failure(events);
            for (const CollectiveEvent& event : events->collectives) {
                if (!window.contains(event.start)) continue;
                const std::string algorithm(reader.text(rank, event.algorithm));
                instant(event.start, toWord(event.operation), kCollectiveFact,
                        factOf(event, algorithm, reader.text(rank, event.protocol)));
            }
        }
        const HeldSteps held = m_scope.heldSteps();
        for (const StepFacts& step : m_scope.summary().steps)
            if (step.rank == rank && held.has(step))
                instant(step.start, "step", kStepFact, factOf(step));
        if (rank != m_scope.ranks().front()) return {};
        for (const MetricPoint& metric : m_scope.summary().metrics)
            if (held.has(metric, m_scope.range()))
                instant(metric.time, metric.name, kMetricFact, factOf(metric));
        return {};
    }

    Result<void> spans(TrackWriter::Uuid process, const LaneFacts& lane) {
        std::vector<TrackWriter::Uuid> uuids{m_tracks.addTrack(process, lane.name, describe(lane))};
        if (auto loaded = loadFlows(lane); !loaded) return loaded;
        Tracks tracks;
        const auto begin = [&](std::size_t at, const Tracks::Track& track) {
            // One that overlaps stands below, under the same name.
            if (at == uuids.size())
                uuids.push_back(m_tracks.addTrack(process, lane.name, describe(lane)));
            slice(uuids[at], lane, track);
        };
        const auto end = [&](std::size_t at, const Tracks::Track& track) {
            m_tracks.end(uuids[at], track.back().end);
        };
        auto walked =
            m_scope.forEachSpan(lane, [&](const SpanEvent& span) { tracks.add(span, begin, end); });
        if (!walked) return walked;
        tracks.finish(end);
        return m_scope.forEachInstant(lane, [&](const InstantEvent& event) {
            storage::RecordingReader& reader = m_scope.reader();
            if (event.step != kNoStep) m_tracks.annotate("step", std::int64_t{event.step.value});
            m_tracks.annotate("scope", toWord(event.scope));
            if (event.arguments != kEmptyString)
                m_tracks.annotateArguments(reader.text(lane.rank, event.arguments));
            m_tracks.instant(uuids.front(), event.time,
                             {reader.text(lane.rank, event.name), toWord(lane.role)});
            ++m_events;
        });
    }

    /// Ends of stored arrows that are bound to spans of the lane, 32 bytes each.
    Result<void> loadFlows(const LaneFacts& lane) {
        m_flows.clear();
        if (!m_storedFlows) return {};
        storage::RecordingReader& reader = m_scope.reader();
        auto done = m_scope.forEachFlow(lane, [&](const FlowEvent& event) {
            if (!event.bound) return;
            const auto hash = [&](StringId id) {
                return std::hash<std::string_view>{}(reader.text(lane.rank, id));
            };
            const std::uint64_t mixed =
                event.id + 31 * (hash(event.category) + 31 * hash(event.name));
            m_flows.push_back({event.spanStart, event.depth, event.point == FlowPoint::kEnd,
                               flowId(lane.rank, FlowKind::kStored, mixed)});
        });
        std::stable_sort(m_flows.begin(), m_flows.end());
        return done;
    }

    void slice(TrackWriter::Uuid uuid, const LaneFacts& lane, const Tracks::Track& track) {
        const SpanEvent& span = track.back().span;
        storage::RecordingReader& reader = m_scope.reader();
        if (span.step != kNoStep) m_tracks.annotate("step", std::int64_t{span.step.value});
        if (span.layer != kNoLayer) m_tracks.annotate("layer", layerTitle(span.layer));
        if (span.phase != Phase::kNone) m_tracks.annotate("phase", toWord(span.phase));
        if (span.correlation != 0)
            m_tracks.annotate("correlation", static_cast<std::int64_t>(span.correlation));
        if (span.arguments != kEmptyString)
            m_tracks.annotateArguments(reader.text(lane.rank, span.arguments));
        TrackSlice slice;
        slice.name = reader.text(lane.rank, span.name);
        slice.category = toWord(lane.role);
        addFlow(slice, lane, track);
        m_tracks.begin(uuid, span.start, slice);
        ++m_events;
    }

    /// From a call to the kernel it launched, from a forward operator to its backward one.
    void addFlow(TrackSlice& slice, const LaneFacts& lane, const Tracks::Track& track) const {
        const SpanEvent& span = track.back().span;
        if (m_storedFlows) {
            const auto [from, to] = std::equal_range(m_flows.begin(), m_flows.end(),
                                                     BoundFlow{span.start, span.depth, false, 0});
            for (auto flow = from; flow != to; ++flow)
                (flow->end ? slice.flowEnds : slice.flows).push_back(flow->id);
            return;
        }
        if (span.correlation == 0) return;
        if (lane.role == LaneRole::kRuntime)
            slice.flows = {flowId(lane.rank, FlowKind::kLaunch, span.correlation)};
        if (lane.role == LaneRole::kCompute || lane.role == LaneRole::kCopy)
            slice.flowEnds = {flowId(lane.rank, FlowKind::kLaunch, span.correlation)};
        if (lane.role != LaneRole::kHost) return;
        // Operators within one share its number; the outermost has the arrow.
        for (std::size_t i = 0; i + 1 < track.size(); ++i)
            if (track[i].span.correlation == span.correlation) return;
        const std::uint64_t flow = flowId(lane.rank, FlowKind::kBackward, span.correlation);
        (span.phase == Phase::kBackward ? slice.flowEnds : slice.flows) = {flow};
    }

    ExportScope& m_scope;
    TrackWriter m_tracks;
    std::uint64_t m_events = 0;
    bool m_storedFlows = false;  ///< the rank has some: those are its arrows
    std::vector<BoundFlow> m_flows;
};

}  // namespace

Result<ExportAccount> exportPerfetto(storage::RecordingReader& reader,
                                     const ExportOptions& options) {
    auto scope = ExportScope::of(reader, options);
    if (!scope) return failure(scope);
    auto writer = ExportWriter::open(outputOf(options, kPerfettoFile));
    if (!writer) return failure(writer);
    PerfettoExport perfetto(*scope, *writer);
    for (const RankId rank : scope->ranks())
        if (auto done = perfetto.rank(rank); !done) return failure(done, "exporting for Perfetto");
    if (perfetto.events() == 0)
        return failure(ErrorCode::kUsage,
                       "no event lies within what is to be exported: choose "
                       "other ranks or a wider range");
    if (auto done = writer->finish(); !done) return failure(done);
    return ExportAccount{perfetto.events(), {options.output}, {}};
}

Result<ReaderResult> readPerfetto(const ReaderRequest& request);

Format perfettoFormat() {
    return {.name = "perfetto",
            .file = "a Perfetto trace",
            .reads = "Perfetto traces (.pftrace) that this program wrote",
            .endings = {".pftrace"},
            // The tag of a packet, which is a line end as well: after what is text.
            .looksLike = [](std::string_view front) { return front.starts_with('\x0a'); },
            .read = readPerfetto,
            .writes = "a trace for ui.perfetto.dev (.pftrace)",
            .ending = ".pftrace",
            .write = exportPerfetto};
}

}  // namespace shardscope::interchange
