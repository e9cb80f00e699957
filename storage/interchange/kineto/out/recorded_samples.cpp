#include "storage/interchange/kineto/out/recorded_samples.h"

#include <cmath>

namespace shardscope::interchange::kineto_out {
namespace {

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
