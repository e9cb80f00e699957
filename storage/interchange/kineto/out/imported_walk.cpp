// A recording that was imported from Kineto, as the trace it came from.
#include "storage/interchange/event_text.h"
#include "storage/interchange/kineto/in/device_rows.h"
#include "storage/interchange/kineto/in/lane_table.h"
#include "storage/interchange/kineto/in/trace_mapper.h"
#include "storage/interchange/kineto/out/event_writer.h"
#include "storage/interchange/kineto/out/kineto_trace.h"
#include "storage/model/flow_words.h"
#include "storage/model/rank_facts.h"

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::interchange::kineto_out {
namespace {

/// What a category of the lane table says of its events.
struct Kind {
    std::string category;
    bool instant = false;
    char scope = 't';
    bool flow = false;
    bool async = false;
    bool device = false;
    bool runtime = false;
    [[nodiscard]] bool correlates() const { return device || runtime; }
};

bool cut(std::string& text, std::string_view ending) {
    if (!text.ends_with(ending)) return false;
    text.resize(text.size() - ending.size());
    return true;
}

Kind kindOf(const std::string& text) {
    Kind kind{text};
    if (text == "flow") {
        kind.flow = true;
        return kind;
    }
    std::string front = text;
    const char scope = cut(front, ", global") ? 'g' : cut(front, ", process") ? 'p' : 't';
    if (front == "instant" || cut(front, ", instant")) {
        kind.category = front == "instant" ? "" : front;
        kind.instant = true;
        kind.scope = scope;
        return kind;
    }
    if (cut(front, kineto::kAsyncEnding)) {
        kind.category = front;
        kind.async = true;
        return kind;
    }
    const kineto::Category category = kineto::categoryOf(text);
    kind.device = category.device;
    kind.runtime = category.role == LaneRole::kRuntime;
    return kind;
}

class ImportedWalk {
public:
    ImportedWalk(ExportScope& scope, const WalkSetting& setting, const ImportedTrace& trace,
                 TraceEventSink& sink)
        : m_scope(scope), m_setting(setting), m_trace(trace), m_sink(sink) {
        for (const LaneFacts& facts : scope.lanes(setting.rank)) {
            const auto at = trace.lanes.find(facts.lane);
            if (at != trace.lanes.end())
                m_lanes.push_back({facts, at->second.row, kindOf(at->second.category)});
        }
    }

    Result<void> run() {
        for (const std::string& event : m_trace.metadataEvents) m_sink.addText(event);
        if (m_trace.storesFlows) {
            for (const Lane& lane : m_lanes)
                if (auto done = stored(lane); !done) return done;
        } else if (auto done = derived(); !done) {
            return done;
        }
        if (!m_sink.wantsSamples()) return {};
        for (const LaneFacts& lane : m_scope.lanes(m_setting.rank))
            if (auto done = counter(lane); !done) return done;
        return memory();
    }

private:
    struct Lane {
        LaneFacts facts;
        TraceRow row;
        Kind kind;
    };
    /// The counters that a device's memory events come with.
    struct Totals {
        const LaneFacts* allocated = nullptr;
        const LaneFacts* reserved = nullptr;
    };

    [[nodiscard]] std::string_view text(StringId id) {
        return m_scope.reader().text(m_setting.rank, id);
    }
    [[nodiscard]] std::int64_t at(Timestamp time) const { return time.ns + m_setting.clockNs; }

    Result<void> stored(const Lane& lane) {
        if (auto done = spans(lane); !done) return done;
        auto done = m_scope.forEachInstant(
            lane.facts, [&](const InstantEvent& instant) { add(lane, instant); });
        if (done)
            done = m_scope.forEachFlow(lane.facts, [&](const FlowEvent& flow) { add(lane, flow); });
        return done;
    }
    void add(const Lane& lane, const InstantEvent& instant) {
        TraceEvent event;
        event.phase = 'i';
        event.category = lane.kind.category;
        event.row = &lane.row;
        event.startNs = at(instant.time);
        event.scope = letterOf(instant.scope);
        event.name = text(instant.name);
        event.arguments = m_arguments.members(text(instant.arguments));
        m_sink.add(event);
    }
    void add(const Lane& lane, const FlowEvent& flow) {
        TraceEvent event;
        event.phase = letterOf(flow.point);
        event.row = &lane.row;
        event.startNs = at(flow.time);
        event.flow = flow.id;
        event.flowText = text(flow.idText);
        event.bindsNext = flow.binding == FlowBinding::kNext;
        event.category = text(flow.category);
        event.name = text(flow.name);
        event.arguments = m_arguments.members(text(flow.arguments));
        m_sink.add(event);
    }

    /// Of a recording that has no flows and instants yet.
    Result<void> derived() {
        if (auto done = findCorrelations(); !done) return done;
        // Arrows that bound to nothing come first: behind an event they might bind to it.
        for (const bool flows : {true, false})
            for (const Lane& lane : m_lanes)
                if (lane.kind.flow == flows)
                    if (auto done = flows ? texts(lane) : spans(lane); !done) return done;
        return {};
    }
    Result<void> findCorrelations() {
        for (const Lane& lane : m_lanes) {
            if (!lane.kind.correlates()) continue;
            Correlations& into = lane.kind.runtime ? m_launches : m_launched;
            auto done = m_scope.forEachSpan(lane.facts, [&](const SpanEvent& span) {
                if (isTheirs(span.correlation)) into.add(span.correlation);
            });
            if (!done) return done;
        }
        m_launches.finish();
        m_launched.finish();
        return {};
    }
    static bool isTheirs(std::uint64_t correlation) {
        return correlation != 0 && correlation < kineto::kNoCorrelation;
    }

    Result<void> texts(const Lane& lane) {
        return m_scope.forEachSpan(lane.facts, [&](const SpanEvent& span) {
            const std::string_view members = m_arguments.members(text(span.arguments));
            m_text.clear();
            m_text += '{';
            m_text.append(members);
            m_text += '}';
            m_sink.addText(m_text);
        });
    }

    Result<void> spans(const Lane& lane) {
        return m_scope.forEachSpan(lane.facts, [&](const SpanEvent& span) { add(lane, span); });
    }

    void add(const Lane& lane, const SpanEvent& span) {
        TraceEvent event;
        event.phase = lane.kind.instant ? 'i' : lane.kind.async ? 'b' : 'X';
        event.category = lane.kind.category;
        event.row = &lane.row;
        event.startNs = at(span.start);
        event.durationNs = span.duration.ns;
        event.scope = lane.kind.scope;
        event.name = text(span.name);
        if (lane.kind.correlates() && isTheirs(span.correlation))
            event.correlation = span.correlation;
        event.arguments = m_arguments.members(text(span.arguments));
        if (lane.kind.async) event.flow = span.correlation;
        m_sink.add(event);
        if (lane.kind.async) {
            event.phase = 'e';
            event.startNs = at(span.end());
            event.arguments = {};
            m_sink.add(event);
        }
        if (!m_trace.storesFlows && isTheirs(span.correlation)) flow(lane, span);
    }

    /// Right behind the event it binds to.
    void flow(const Lane& lane, const SpanEvent& span) {
        TraceEvent event;
        event.row = &lane.row;
        event.startNs = at(span.start);
        event.flow = span.correlation;
        if (lane.kind.runtime) {
            if (!m_launched.has(span.correlation)) return;
            event.phase = 's';
        } else if (lane.kind.device) {
            if (!m_launches.has(span.correlation)) return;
            event.phase = 'f';
        } else {
            event.phase = span.phase == Phase::kBackward ? 'f' : 's';
        }
        event.category = event.name =
            lane.kind.correlates() ? flow_words::kLaunch : flow_words::kForwardBackward;
        m_sink.add(event);
    }

    /// Whether a memory event of the trace gave this counter.
    static bool isTotal(const ImportedTrace::Counter& counter) {
        return counter.series == counter.process &&
               (counter.name == "allocated" || counter.name == "reserved");
    }

    Result<void> counter(const LaneFacts& lane) {
        const auto found = m_trace.counters.find(lane.lane);
        if (found == m_trace.counters.end()) return {};
        const ImportedTrace::Counter& counter = found->second;
        if (isTotal(counter)) {
            Totals& totals = m_totals[counter.process];
            (counter.name == "allocated" ? totals.allocated : totals.reserved) =
                &m_totalLanes.emplace_back(lane);
            return {};
        }
        return m_scope.forEachStoredSample(lane, [&](Timestamp time, double value) {
            m_text.clear();
            appendString(m_text, counter.series);
            m_text += ':';
            appendNumber(m_text, value);
            TraceEvent event;
            event.phase = 'C';
            event.name = counter.name;
            event.flowText = counter.id;
            event.row = &counter.row;
            event.startNs = at(time);
            event.arguments = m_text;
            m_sink.add(event);
        });
    }

    /// Samples of one window, used up from the front.
    struct Cursor {
        std::vector<CounterEvent> samples;
        std::size_t next = 0;
        std::optional<double> take(Timestamp time) {
            while (next < samples.size() && samples[next].time < time) ++next;
            if (next == samples.size() || samples[next].time != time) return std::nullopt;
            return samples[next++].value;
        }
    };
    struct DeviceCursor {
        Cursor allocated, reserved;
    };

    Result<void> memory() {
        m_hostRow = hostRow();
        for (const TimeRange window :
             m_scope.windows(m_setting.rank, m_scope.summary().events.memory)) {
            std::map<std::string, DeviceCursor, std::less<>> cursors;
            for (const auto& [device, totals] : m_totals)
                for (const auto& [lane, cursor] :
                     {std::pair{totals.allocated, &cursors[device].allocated},
                      std::pair{totals.reserved, &cursors[device].reserved}}) {
                    if (lane == nullptr) continue;
                    auto samples = m_scope.reader().samples(m_setting.rank, lane->lane, window);
                    if (!samples) return failure(samples);
                    cursor->samples = std::move(*samples);
                }
            auto events = m_scope.reader().memoryEvents(m_setting.rank, window);
            if (!events) return failure(events);
            for (const MemoryEvent& event : *events) {
                const std::string_view device = text(event.owner);
                if (device.starts_with("alive before the trace") ||
                    device.starts_with("freed between two traces"))
                    continue;
                const auto cursor = cursors.find(device);
                add(event, device, cursor == cursors.end() ? nullptr : &cursor->second);
            }
            if (auto more = m_scope.advance(events->size()); !more) return more;
        }
        return {};
    }

    void add(const MemoryEvent& memory, std::string_view device, DeviceCursor* cursor) {
        const std::size_t colon = device.find(':');
        const bool host = colon == std::string_view::npos;
        const auto member = [&](const char* key, std::int64_t value) {
            m_text.append(m_text.empty() ? "\"" : ",\"").append(key).append("\":");
            appendInteger(m_text, value);
        };
        m_text.clear();
        member("Addr", static_cast<std::int64_t>(memory.address));
        member("Bytes",
               memory.action == MemoryAction::kFree ? -memory.size.count : memory.size.count);
        if (cursor != nullptr) {
            if (const auto total = cursor->allocated.take(memory.time))
                member("Total Allocated", static_cast<std::int64_t>(*total));
            if (const auto total = cursor->reserved.take(memory.time))
                member("Total Reserved", static_cast<std::int64_t>(*total));
        }
        member("Device Type", kineto::deviceTypeOf(device.substr(0, colon)));
        m_text += ",\"Device Id\":";
        if (host)
            m_text.append("-1");
        else
            m_text.append(idValue(device.substr(colon + 1)));
        TraceEvent event;
        event.phase = 'i';
        event.category = "cpu_instant_event";
        event.name = "[memory]";
        event.row = &m_hostRow;
        event.startNs = at(memory.time);
        event.arguments = m_text;
        m_sink.add(event);
    }

    /// Which thread allocated is not kept: the main thread of the host's process.
    [[nodiscard]] TraceRow hostRow() const {
        for (const RankFacts& rank : m_scope.summary().ranks)
            if (rank.rank == m_setting.rank && rank.pid > 0)
                return {std::to_string(rank.pid), std::to_string(rank.pid)};
        return {std::to_string(0), std::to_string(0)};
    }

    ExportScope& m_scope;
    WalkSetting m_setting;
    const ImportedTrace& m_trace;
    TraceEventSink& m_sink;
    std::vector<Lane> m_lanes;
    Correlations m_launches, m_launched;
    std::map<std::string, Totals, std::less<>> m_totals;
    std::deque<LaneFacts> m_totalLanes;
    ArgumentCheck m_arguments;
    TraceRow m_hostRow;
    std::string m_text;
};

}  // namespace

Result<void> walkImported(ExportScope& scope, const WalkSetting& setting,
                          const ImportedTrace& trace, TraceEventSink& sink) {
    return ImportedWalk(scope, setting, trace, sink).run();
}

}  // namespace shardscope::interchange::kineto_out
