#include "storage/interchange/recording/recording_copy.h"

#include "storage/columns/stored_kinds.h"
#include "storage/model/host_facts.h"
#include "storage/model/process_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>

namespace shardscope::interchange {
namespace {

/// Spans of a lane are copied in stretches of time with about this many events of all lanes.
constexpr std::uint64_t kEventsAWindow = 2'000'000;

}  // namespace

std::pair<std::int32_t, bool> SharedFacts::host(const HostFacts& host) {
    const auto [at, added] = m_hosts.try_emplace({host.bootId, host.name}, host.host);
    if (added) {
        while (m_hostNumbers.contains(at->second)) ++at->second;
        m_hostNumbers.insert(at->second);
    }
    return {at->second, added};
}

bool SharedFacts::metric(const MetricPoint& metric) {
    return m_metrics.insert({metric.name, metric.step.value, metric.time.ns}).second;
}

bool SharedFacts::diagnostic(const Diagnostic& diagnostic) {
    return m_diagnostics.insert({diagnostic.code, diagnostic.message, diagnostic.time.ns}).second;
}

Result<void> RecordingCopy::copy() {
    auto done = writeFacts();
    std::size_t lanes = 0;
    for (const LaneFacts& lane : m_all.lanes) {
        const double share = static_cast<double>(lanes++) /
                             static_cast<double>(std::max<std::size_t>(m_all.lanes.size(), 1));
        if (m_scope.progress && !m_scope.progress(share))
            return failure(ErrorCode::kCancelled, "copying the recording was cancelled");
        if (done && wanted(lane.rank)) done = writeLane(lane);
    }
    for (const RankFacts& rank : m_all.ranks)
        if (done && wanted(rank.rank)) done = writeRank(rank);
    return done;
}

bool RecordingCopy::wanted(RankId rank) const {
    return m_scope.ranks.empty() ||
           std::find(m_scope.ranks.begin(), m_scope.ranks.end(), rank) != m_scope.ranks.end();
}

HeldSteps RecordingCopy::heldSteps() const {
    std::vector<RankId> ranks;
    for (const RankFacts& rank : m_all.ranks)
        if (wanted(rank.rank)) ranks.push_back(rank.rank);
    return {m_all, ranks, [this](RankId) { return m_scope.range; }};
}

StringSubset& RecordingCopy::stringsOf(RankId rank) {
    return m_strings.try_emplace(rank, m_reader, rank).first->second;
}

ArgumentSubset& RecordingCopy::argumentsOf(RankId rank) {
    return m_arguments.try_emplace(rank, m_reader, m_writer, rank, stringsOf(rank)).first->second;
}

Result<void> RecordingCopy::writeFacts() {
    for (HostFacts host : m_all.hosts) {
        const auto [number, isNew] = m_shared.host(host);
        m_hosts[host.host] = number;
        host.host = number;
        if (!isNew) continue;
        if (auto done = m_writer.addHost(host); !done) return done;
    }
    for (ClockFacts clock : m_all.clocks) {
        const auto host = m_hosts.find(clock.host);
        if (host == m_hosts.end() || !m_scope.range.contains(clock.time)) continue;
        clock.host = host->second;
        clock.time = clock.time + m_scope.shift;
        clock.offsetNs += m_scope.shift.ns;
        if (auto done = m_writer.addClock(clock); !done) return done;
    }
    for (const DeviceFacts& device : m_all.devices)
        if (wanted(device.rank))
            if (auto done = m_writer.putDevice(device); !done) return done;
    for (const MemoryTheory& theory : m_all.memoryTheory)
        if (wanted(theory.rank))
            if (auto done = m_writer.addMemoryTheory(theory); !done) return done;
    for (FactRow fact : m_all.facts) {
        const auto host = m_hosts.find(fact.host);
        const bool ofRank = fact.rank >= 0, ofRun = fact.host < 0;
        if ((host == m_hosts.end() && !ofRun) ||
            (ofRank && !wanted({static_cast<std::uint32_t>(fact.rank)})))
            continue;
        if (!ofRun) fact.host = host->second;
        if (auto done = m_writer.putFact(fact); !done) return done;
    }
    if (auto done = writeProcesses(); !done) return done;
    for (MetricPoint metric : m_all.metrics) {
        if (!m_held.has(metric, m_scope.range)) continue;
        metric.time = metric.time + m_scope.shift;
        if (!m_shared.metric(metric)) continue;
        if (auto done = m_writer.addMetric(metric); !done) return done;
    }
    for (Diagnostic diagnostic : m_all.diagnostics) {
        if (diagnostic.rank && !wanted(*diagnostic.rank)) continue;
        diagnostic.time = diagnostic.time + m_scope.shift;
        if (!m_shared.diagnostic(diagnostic)) continue;
        if (auto done = m_writer.addDiagnostic(diagnostic); !done) return done;
    }
    return writeSteps();
}

/// Those of no rank belong to the program as a whole, as far as they lived within the part.
Result<void> RecordingCopy::writeProcesses() {
    for (ProcessFacts process : m_all.processes) {
        const auto host = m_hosts.find(process.host);
        const bool ofRank = process.rank >= 0;
        const bool outside = process.started >= m_scope.range.end ||
                             (process.ended && *process.ended < m_scope.range.begin);
        if (host == m_hosts.end() || (m_scope.cut && outside) ||
            (ofRank && !wanted({static_cast<std::uint32_t>(process.rank)})))
            continue;
        process.host = host->second;
        process.started = process.started + m_scope.shift;
        if (process.ended) *process.ended = *process.ended + m_scope.shift;
        if (auto done = m_writer.putProcess(process); !done) return done;
    }
    return {};
}

Result<void> RecordingCopy::writeSteps() {
    std::map<RankId, std::pair<std::uint64_t, std::uint64_t>> before;  // emitted, dropped
    for (const RankFacts& rank : m_all.ranks) m_ownSteps[rank.rank].reach = m_scope.range;
    for (StepFacts step : m_all.steps) {
        if (!wanted(step.rank)) continue;
        auto& [emitted, dropped] = before[step.rank];
        TimeRange& reach = m_ownSteps[step.rank].reach;
        if (step.end <= m_scope.range.begin) {
            emitted = step.emitted;
            dropped = step.dropped;
            reach.begin = step.start;
        }
        if (step.start >= m_scope.range.end && reach.end == m_scope.range.end) reach.end = step.end;
        if (!m_held.has(step)) continue;
        m_ownSteps[step.rank].steps.insert(step.step);
        step.emitted -= std::min(emitted, step.emitted);
        step.dropped -= std::min(dropped, step.dropped);
        step.start = step.start + m_scope.shift;
        step.end = step.end + m_scope.shift;
        m_dropped[step.rank] = step.dropped;
        if (auto done = m_writer.addStep(step); !done) return done;
    }
    return writeDetail();
}

/// What was left out of the part is no less left out there.
Result<void> RecordingCopy::writeDetail() {
    if (m_all.detail.empty()) return {};
    std::map<RankId, std::pair<StepIndex, StepIndex>> within;  // first and last step
    for (const StepFacts& step : m_all.steps) {
        if (!step.range().intersects(m_scope.range)) continue;
        auto& [first, last] = within.try_emplace(step.rank, step.step, step.step).first->second;
        first = std::min(first, step.step);
        last = std::max(last, step.step);
    }
    for (DetailFacts detail : m_all.detail) {
        const auto steps = within.find(detail.rank);
        if (!wanted(detail.rank) || steps == within.end()) continue;
        detail.first = std::max(detail.first, steps->second.first);
        detail.last = std::min(detail.last, steps->second.second);
        if (detail.last < detail.first) continue;
        // How much of what was taken out lay within is not known.
        if (m_scope.cut) detail.removed.reset();
        detail.range = detail.range.intersection(m_scope.range);
        detail.range.end = std::max(detail.range.begin, detail.range.end);
        if (detail.peak && !m_scope.range.contains(detail.peak->time)) detail.peak.reset();
        if (detail.peak) detail.peak->time = detail.peak->time + m_scope.shift;
        detail.range = {detail.range.begin + m_scope.shift, detail.range.end + m_scope.shift};
        m_removed[detail.rank] += detail.removed.value_or(0);
        if (auto done = m_writer.addDetail(detail); !done) return done;
    }
    return {};
}

Result<void> RecordingCopy::writeLane(const LaneFacts& lane) {
    // Lanes of memory are made from memory events again.
    if (isMemoryLane(lane.lane)) return {};
    if (auto done = m_writer.addLane(lane); !done) return done;
    if (lane.role == LaneRole::kCounter) return writeSamples(lane);
    const auto windows = static_cast<std::int64_t>(m_all.events.total() / kEventsAWindow + 1);
    const std::int64_t width = m_scope.range.duration().ns / windows + 1;
    for (std::int64_t i = 0; i < windows; ++i) {
        const TimeRange reach = m_ownSteps[lane.rank].reach;
        const Timestamp begin = m_scope.range.begin + Duration{i * width};
        const TimeRange window{
            i == 0 ? reach.begin : begin,
            i + 1 == windows ? reach.end : std::min(begin + Duration{width}, m_scope.range.end)};
        if (auto done = writeSpans(lane, window, i == 0); !done) return done;
        if (auto done = writeMoments(lane, window.intersection(m_scope.range)); !done) return done;
    }
    return {};
}

template <class Event, class Encode>
Result<void> RecordingCopy::writeChunks(RankId rank, std::span<const Event> events, Encode encode) {
    constexpr std::size_t kMost = columns::kStoredChunkEvents;
    for (std::size_t at = 0; at < events.size(); at += kMost) {
        const auto part = events.subspan(at, std::min(kMost, events.size() - at));
        if (auto done = m_writer.addChunk(encode(rank, part)); !done) return done;
    }
    m_stored[rank] += events.size();
    return m_writer.flush();
}

Result<void> RecordingCopy::writeSpans(const LaneFacts& lane, TimeRange window, bool first) {
    auto spans = m_reader.spans(lane.rank, lane.lane, window);
    if (!spans) return failure(spans);
    // What began in a window before was copied with that.
    const OwnSteps& own = m_ownSteps[lane.rank];
    std::erase_if(*spans, [&](const SpanEvent& span) {
        return (!first && span.start < window.begin) || !belongs(own, span, span.range());
    });
    return writeEvents(lane.rank, *spans);
}

StringId RecordingCopy::keep(RankId rank, StringId id) {
    return columns::isArguments(id) ? argumentsOf(rank).keep(id) : stringsOf(rank).keep(id);
}

/// Moved in time, with texts numbered anew.
template <class Event>
Result<void> RecordingCopy::writeEvents(RankId rank, std::vector<Event>& events) {
    using Stored = columns::StoredKind<Event>;
    if (events.empty()) return {};
    for (Event& event : events) {
        Stored::timeOf(event) = Stored::timeOf(event) + m_scope.shift;
        if constexpr (std::is_same_v<Event, FlowEvent>)
            if (event.bound) event.spanStart = event.spanStart + m_scope.shift;
        for (StringId* id : Stored::texts(event)) *id = keep(rank, *id);
    }
    if (auto stored = argumentsOf(rank).flush(); !stored) return stored;
    return writeChunks<Event>(rank, events, Stored::encode);
}

Result<void> RecordingCopy::writeMoments(const LaneFacts& lane, TimeRange window) {
    auto instants = m_reader.instants(lane.rank, lane.lane, window);
    if (!instants) return failure(instants);
    if (auto done = writeEvents(lane.rank, *instants); !done) return done;
    auto flows = m_reader.flows(lane.rank, lane.lane, window);
    if (!flows) return failure(flows);
    return writeEvents(lane.rank, *flows);
}

Result<void> RecordingCopy::writeSamples(const LaneFacts& lane) {
    auto samples = m_reader.samples(lane.rank, lane.lane, m_scope.range);
    if (!samples) return failure(samples);
    // The value in force when the part begins.
    if (!samples->empty()) {
        CounterEvent& first = samples->front();
        first.time = std::max(first.time, m_scope.range.begin);
    }
    for (CounterEvent& sample : *samples) sample.time = sample.time + m_scope.shift;
    return writeChunks<CounterEvent>(lane.rank, *samples, columns::encodeCounters);
}

Result<void> RecordingCopy::writeMemory(RankId rank) {
    StringSubset& strings = stringsOf(rank);
    std::vector<MemoryEvent> events;
    if (m_scope.cut) {
        auto alive = m_reader.liveMemory(rank, m_scope.range.begin - Duration{1});
        if (!alive) return failure(alive);
        m_synthetic += alive->size();
        for (MemoryEvent& block : *alive) {
            block.time = m_scope.range.begin;
            block.owner = strings.keepMarked(block.owner);
            events.push_back(block);
        }
    }
    auto own = m_reader.memoryEvents(rank, m_scope.range);
    if (!own) return failure(own);
    for (MemoryEvent& event : *own) {
        event.owner = strings.keep(event.owner);
        events.push_back(event);
    }
    for (MemoryEvent& event : events) {
        event.time = event.time + m_scope.shift;
        event.arguments = keep(rank, event.arguments);
    }
    if (auto stored = argumentsOf(rank).flush(); !stored) return stored;
    return writeChunks<MemoryEvent>(rank, events, columns::encodeMemory);
}

Result<void> RecordingCopy::writeCollectives(RankId rank) {
    const OwnSteps& own = m_ownSteps[rank];
    auto events = m_reader.rankEvents(rank, own.reach);
    if (!events) return failure(events);
    std::vector<CollectiveEvent>& collectives = events->collectives;
    std::erase_if(collectives, [&](const CollectiveEvent& event) {
        return !belongs(own, event, TimeRange{event.start, event.end});
    });
    StringSubset& strings = stringsOf(rank);
    for (CollectiveEvent& event : collectives) {
        event.algorithm = strings.keep(event.algorithm);
        event.protocol = strings.keep(event.protocol);
        for (Timestamp* time : {&event.issue, &event.start, &event.end})
            *time = *time + m_scope.shift;
        event.arrivals = {event.arrivals.size(), [&, here = event.arrivals](std::size_t place) {
                              return here[place] + m_scope.shift;
                          }};
    }
    std::stable_sort(
        collectives.begin(), collectives.end(),
        [](const CollectiveEvent& a, const CollectiveEvent& b) { return a.start < b.start; });
    return writeChunks<CollectiveEvent>(rank, collectives, columns::encodeCollectives);
}

Result<void> RecordingCopy::writeRank(RankFacts rank) {
    if (auto done = writeMemory(rank.rank); !done) return done;
    if (auto done = writeCollectives(rank.rank); !done) return done;
    if (auto done = m_writer.addStrings(rank.rank, {1}, stringsOf(rank.rank).texts()); !done)
        return done;
    if (m_scope.cut) rank.dropped = m_dropped[rank.rank];
    rank.emitted = m_stored[rank.rank] + rank.dropped + m_removed[rank.rank];
    if (const auto host = m_hosts.find(rank.host); host != m_hosts.end()) rank.host = host->second;
    return m_writer.putRank(rank);
}

}  // namespace shardscope::interchange
