#include "storage/interchange/kineto/out/recorded_collectives.h"

#include "storage/interchange/formats/nested_tracks.h"
#include "storage/interchange/kineto/out/trace_events.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardscope::interchange::kineto_out {
namespace {

/// Above CUPTI's correlations (32 bits, and 2^32 on where it has none), below what a double holds
/// exactly.
constexpr std::uint64_t kCollectiveCorrelation = std::uint64_t{1} << 40;
/// A row of a process that is no lane's.
constexpr std::int64_t kIssueRow = 500'000;

struct Nothing {};

/// One series of counters in a row of the rank's process.
class Series {
public:
    explicit Series(const RecordedRank& rank) : m_rank(rank), m_row{rank.hostPid, "0"} {}

    void add(std::string_view counter, const std::string& series, Timestamp time, double value) {
        if (!std::isfinite(value)) return;
        m_text.clear();
        appendString(m_text, series);
        m_text += ':';
        appendNumber(m_text, value);
        TraceEvent event;
        event.phase = 'C';
        event.name = counter;
        event.row = &m_row;
        event.startNs = m_rank.at(time);
        event.arguments = m_text;
        m_rank.sink.add(event);
    }

private:
    const RecordedRank& m_rank;
    TraceRow m_row;
    std::string m_text;
};

/// The [memory] events of a rank, one after the other.
class MemoryEvents {
public:
    explicit MemoryEvents(const RecordedRank& rank)
        : m_rank(rank), m_row{rank.hostPid, rank.hostPid} {
        // Of a part it is not known what was there before.
        m_totalKnown = rank.scope.range(rank.rank).begin <= rank.scope.summary().bounds.begin;
    }

    void add(const MemoryEvent& event) {
        if (event.category == MemoryCategory::kOutside) return;
        describe(event);
        TraceEvent instant;
        instant.phase = 'i';
        instant.category = "cpu_instant_event";
        instant.name = "[memory]";
        instant.row = &m_row;
        instant.startNs = m_rank.at(event.time);
        instant.arguments = m_arguments.members();
        m_rank.sink.add(instant);
    }

private:
    void describe(const MemoryEvent& event) {
        const std::int64_t bytes =
            event.action == MemoryAction::kFree ? -event.size.count : event.size.count;
        m_total += bytes;
        m_arguments.begin({});
        m_arguments.add("Addr", static_cast<std::int64_t>(event.address));
        m_arguments.add("Bytes", bytes);
        if (m_totalKnown) m_arguments.add("Total Allocated", m_total);
        m_arguments.add("Device Type", std::int64_t{m_rank.device ? 1 : 0});
        m_arguments.add("Device Id", m_rank.device ? m_rank.deviceId : -1);
        m_arguments.add("category", toWord(event.category));
        if (event.owner != kEmptyString) m_arguments.add("owner", m_rank.text(event.owner));
        if (event.step != kNoStep) m_arguments.add("step", std::int64_t{event.step.value});
        if (event.layer != kNoLayer) m_arguments.add("layer", layerTitle(event.layer));
    }

    const RecordedRank& m_rank;
    TraceRow m_row;
    std::int64_t m_total = 0;
    bool m_totalKnown = false;
    RecordedArguments m_arguments;
};

}  // namespace

Result<void> RecordedCollectives::read() {
    const ExportScope& scope = m_rank.scope;
    for (const TimeRange window : scope.windows(m_rank.rank, scope.summary().events.spans)) {
        auto events = m_rank.scope.reader().rankEvents(m_rank.rank, window);
        if (!events) return failure(events);
        const bool first = window.begin <= scope.range(m_rank.rank).begin;
        for (CollectiveEvent& collective : events->collectives)
            if (first || collective.start >= window.begin)
                m_collectives.push_back(std::move(collective));
    }
    std::stable_sort(
        m_collectives.begin(), m_collectives.end(),
        [](const CollectiveEvent& a, const CollectiveEvent& b) { return a.start < b.start; });
    m_ran.assign(m_collectives.size(), !m_rank.device);
    return {};
}

std::optional<std::size_t> RecordedCollectives::of(const SpanEvent& kernel) const {
    const auto found =
        std::lower_bound(m_collectives.begin(), m_collectives.end(), kernel.start,
                         [](const CollectiveEvent& c, Timestamp time) { return c.start < time; });
    if (found == m_collectives.end() || found->start != kernel.start) return std::nullopt;
    return static_cast<std::size_t>(found - m_collectives.begin());
}

std::uint64_t RecordedCollectives::describe(RecordedArguments& arguments, std::size_t index) const {
    const GroupFacts group{m_rank.scope.summary().run.worldSize,
                           static_cast<std::int32_t>(m_rank.rank.value)};
    addCollective(arguments, m_collectives[index], group);
    return kCollectiveCorrelation + index;
}

void RecordedCollectives::write(RowTable& rows) {
    if (m_collectives.empty()) return;
    Rows issued = rows.of(m_rank.hostPid, kIssueRow, "collectives asked for");
    Rows kernels;
    if (!m_rank.device)
        kernels = rows.of(m_rank.devicePid, kCollectiveStream, "stream 1: collectives");
    NestedTracks<Nothing> tracks;
    for (std::size_t i = 0; i < m_collectives.size(); ++i) {
        writeIssue(i, rows.row(issued, 0));
        if (m_rank.device) continue;
        SpanEvent span;
        span.start = m_collectives[i].start;
        span.duration = m_collectives[i].end - m_collectives[i].start;
        const auto begin = [&](std::size_t track, const auto&) {
            writeKernel(i, rows.row(kernels, track));
        };
        tracks.add(span, begin, [](std::size_t, const auto&) {});
    }
}

void RecordedCollectives::writeIssue(std::size_t index, const TraceRow& row) {
    const CollectiveEvent& collective = m_collectives[index];
    m_arguments.begin({});
    TraceEvent event;
    event.correlation = describe(m_arguments, index);
    event.category = "cpu_op";
    event.name = "record_param_comms";
    event.row = &row;
    event.startNs = m_rank.at(std::min(collective.issue, collective.start));
    event.arguments = m_arguments.members();
    m_rank.sink.add(event);
    if (m_ran[index]) m_rank.flow('s', event, event.correlation);
}

void RecordedCollectives::writeKernel(std::size_t index, const TraceRow& row) {
    const CollectiveEvent& collective = m_collectives[index];
    m_arguments.begin({});
    m_rank.addDevice(m_arguments, kCollectiveStream);
    TraceEvent event;
    event.correlation = describe(m_arguments, index);
    event.category = "kernel";
    event.name = collectiveKernelName(collective.operation);
    event.row = &row;
    event.startNs = m_rank.at(collective.start);
    event.durationNs = (collective.end - collective.start).ns;
    event.arguments = m_arguments.members();
    m_rank.sink.add(event);
    m_rank.flow('f', event, event.correlation);
}

Result<void> writeCounter(const RecordedRank& rank, const LaneFacts& lane) {
    Series series(rank);
    const std::string unit = lane.unit.empty() ? "value" : lane.unit;
    return rank.scope.forEachSample(
        lane, [&](Timestamp time, double value) { series.add(lane.name, unit, time, value); });
}

void writeMetrics(const RecordedRank& rank) {
    Series series(rank);
    const HeldSteps held = rank.scope.heldSteps();
    for (const MetricPoint& metric : rank.scope.summary().metrics)
        if (held.has(metric, rank.scope.range()))
            series.add(metric.name, "value", metric.time, metric.value);
}

Result<void> writeMemory(const RecordedRank& rank) {
    MemoryEvents events(rank);
    return rank.scope.forEachMemoryEvent(rank.rank,
                                         [&](const MemoryEvent& event) { events.add(event); });
}

}  // namespace shardscope::interchange::kineto_out
