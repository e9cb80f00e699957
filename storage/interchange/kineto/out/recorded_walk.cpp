// A recording that Kineto did not write, as Kineto would have: what becomes what, and why, is in
// docs/kineto.md.
#include "storage/interchange/formats/nested_tracks.h"
#include "storage/interchange/kineto/out/correlations.h"
#include "storage/interchange/kineto/out/device_names.h"
#include "storage/interchange/kineto/out/recorded_arguments.h"
#include "storage/interchange/kineto/out/row_table.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace shardscope::interchange::kineto_out {
namespace {

/// Correlations that are made here lie above CUPTI's (32 bits, and 2^32 on where it has none) and
/// below what a double holds exactly.
constexpr std::uint64_t kCollectiveCorrelation = std::uint64_t{1} << 40;
constexpr std::uint64_t kPhaseCorrelation = std::uint64_t{1} << 41;
/// Process ids up to here are devices'.
constexpr std::int64_t kMostDevices = 1024;
constexpr std::int64_t kHostPid = 1'000'000;
/// Rows of a process that are no lane's.
constexpr std::int64_t kStepRow = 0, kIssueRow = 500'000;
/// Streams of the device that stands for a rank without one.
constexpr std::int64_t kComputeStream = 0, kCollectiveStream = 1;

class RecordedWalk {
public:
    RecordedWalk(ExportScope& scope, const WalkSetting& setting, TraceEventSink& sink)
        : m_scope(scope),
          m_setting(setting),
          m_sink(sink),
          m_lanes(scope.lanes(setting.rank)),
          m_rows(sink) {
        for (const LaneFacts& lane : m_lanes) m_device = m_device || isStreamLane(lane.lane);
        m_group = {scope.summary().run.worldSize, static_cast<std::int32_t>(setting.rank.value)};
        choosePids();
    }

    Result<void> run() {
        nameProcesses();
        if (auto done = readCollectives(); !done) return done;
        if (auto done = findCorrelations(); !done) return done;
        steps();
        collectives();
        for (const LaneFacts& lane : m_lanes) {
            if (auto done = add(lane); !done) return done;
            if (auto done = instants(lane); !done) return done;
        }
        if (!m_sink.wantsSamples()) return {};
        if (auto done = memory(); !done) return done;
        if (m_setting.rank == m_scope.ranks().front()) metrics();
        return {};
    }

private:
    struct Nothing {};
    /// Of an imported trace of another tool.
    Result<void> instants(const LaneFacts& lane) {
        if (lane.role == LaneRole::kCounter) return {};
        std::optional<Rows> rows;
        return m_scope.forEachInstant(lane, [&](const InstantEvent& instant) {
            if (!rows) rows = m_rows.of(m_hostPid, lane.lane.value, lane.name);
            TraceEvent event;
            event.phase = 'i';
            event.category = "cpu_instant_event";
            event.name = text(instant.name);
            event.row = &m_rows.row(*rows, 0);
            event.startNs = at(instant.time);
            event.scope = letterOf(instant.scope);
            event.arguments = m_check.members(text(instant.arguments));
            m_sink.add(event);
        });
    }

    void choosePids() {
        const RecordingSummary& summary = m_scope.summary();
        std::int64_t pid = kHostPid + m_setting.rank.value;
        std::int64_t device = m_setting.rank.value;
        for (const RankFacts& rank : summary.ranks)
            if (rank.rank == m_setting.rank && rank.pid > kMostDevices) pid = rank.pid;
        for (const DeviceFacts& facts : summary.devices)
            if (facts.rank == m_setting.rank && facts.sharedBy > 1) device = 0;
        m_hostPid = std::to_string(pid);
        m_devicePid = std::to_string(device);
        m_deviceId = device;
    }

    [[nodiscard]] std::int64_t at(Timestamp time) const { return time.ns + m_setting.clockNs; }
    [[nodiscard]] std::string_view text(StringId id) {
        return m_scope.reader().text(m_setting.rank, id);
    }

    void nameProcesses() {
        constexpr std::int64_t kDevicesBelow = 5'000'000;
        const std::string title = rankTitle(m_scope.summary(), m_setting.rank);
        m_rows.nameProcess(m_hostPid, title, "CPU", m_setting.rank.value);
        const std::string label = "GPU " + std::to_string(m_deviceId);
        m_rows.nameProcess(m_devicePid, title, m_device ? label : "work and collectives as kernels",
                           kDevicesBelow + m_deviceId);
    }

    Rows hostRows(const LaneFacts& lane) {
        return m_rows.of(m_hostPid, std::int64_t{lane.lane.value} + 1, lane.name);
    }

    /// Shows each span of a lane on a row where it overlaps nothing.
    template <class Show>
    Result<void> onRows(const LaneFacts& lane, Rows rows, Show show) {
        NestedTracks<Nothing> tracks;
        const auto end = [](std::size_t, const auto&) {};
        const auto begin = [&](std::size_t index, const auto& track) {
            TraceEvent event;
            event.row = &m_rows.row(rows, index);
            event.startNs = at(track.back().span.start);
            event.durationNs = track.back().span.duration.ns;
            show(track.back().span, event);
        };
        return m_scope.forEachSpan(lane,
                                   [&](const SpanEvent& span) { tracks.add(span, begin, end); });
    }

    Result<void> readCollectives() {
        for (const TimeRange window : m_scope.windows(m_scope.summary().events.spans)) {
            auto events = m_scope.reader().rankEvents(m_setting.rank, window);
            if (!events) return failure(events);
            const bool first = window.begin <= m_scope.range().begin;
            for (CollectiveEvent& collective : events->collectives)
                if (first || collective.start >= window.begin)
                    m_collectives.push_back(std::move(collective));
        }
        std::stable_sort(
            m_collectives.begin(), m_collectives.end(),
            [](const CollectiveEvent& a, const CollectiveEvent& b) { return a.start < b.start; });
        return {};
    }
    /// The collective whose kernel this is, by when it ran.
    [[nodiscard]] std::optional<std::size_t> collectiveOf(const SpanEvent& kernel) const {
        const auto found = std::lower_bound(
            m_collectives.begin(), m_collectives.end(), kernel.start,
            [](const CollectiveEvent& c, Timestamp time) { return c.start < time; });
        if (found == m_collectives.end() || found->start != kernel.start) return std::nullopt;
        return static_cast<std::size_t>(found - m_collectives.begin());
    }

    Result<void> findCorrelations() {
        m_ran.assign(m_collectives.size(), !m_device);
        for (const LaneFacts& lane : m_lanes) {
            const bool launches = lane.role == LaneRole::kRuntime;
            if (!launches && !isStreamLane(lane.lane)) continue;
            auto done = m_scope.forEachSpan(lane, [&](const SpanEvent& span) {
                if (lane.role == LaneRole::kCommunication)
                    if (const auto index = collectiveOf(span)) m_ran[*index] = true;
                if (span.correlation == 0) return;
                (launches ? m_launches : m_launched).add(span.correlation);
            });
            if (!done) return done;
        }
        m_launches.finish();
        m_launched.finish();
        return {};
    }

    /// The steps, and what comes behind the last one as a step of its own: HTA leaves out the last.
    void steps() {
        Rows rows = m_rows.of(m_hostPid, kStepRow, "steps");
        std::optional<StepFacts> last;
        TraceEvent event;
        event.category = "user_annotation";
        const auto show = [&](std::int64_t number, Timestamp start, Timestamp end) {
            const std::string name = "ProfilerStep#" + std::to_string(number);
            event.name = name;
            event.row = &m_rows.row(rows, 0);
            event.startNs = at(start);
            event.durationNs = std::max<std::int64_t>(0, (end - start).ns);
            m_sink.add(event);
        };
        for (const StepFacts& step : m_scope.summary().steps) {
            if (step.rank != m_setting.rank || !step.range().intersects(m_scope.range())) continue;
            show(step.step.value, step.start, step.end);
            if (!last || step.end > last->end) last = step;
        }
        constexpr Duration kShortest{1'000};
        if (!last) return;
        const Timestamp end = std::min(m_scope.summary().bounds.end, m_scope.range().end);
        show(std::int64_t{last->step.value} + 1, last->end, std::max(end, last->end + kShortest));
    }

    void flow(char phase, const TraceEvent& of, std::uint64_t id) {
        TraceEvent event;
        event.phase = phase;
        event.category = event.name = "ac2g";
        event.row = of.row;
        event.startNs = of.startNs;
        event.flow = id;
        m_sink.add(event);
    }

    /// record_param_comms where each collective was asked for; on a rank without a device its
    /// kernel as well.
    void collectives() {
        if (m_collectives.empty()) return;
        Rows issued = m_rows.of(m_hostPid, kIssueRow, "collectives asked for");
        Rows ran =
            m_device ? Rows{} : m_rows.of(m_devicePid, kCollectiveStream, "stream 1: collectives");
        NestedTracks<Nothing> tracks;
        for (std::size_t i = 0; i < m_collectives.size(); ++i) {
            const CollectiveEvent& collective = m_collectives[i];
            m_arguments.begin({});
            addCollective(m_arguments, collective, m_group);
            TraceEvent event;
            event.category = "cpu_op";
            event.name = "record_param_comms";
            event.row = &m_rows.row(issued, 0);
            event.startNs = at(std::min(collective.issue, collective.start));
            event.arguments = m_arguments.members();
            event.correlation = kCollectiveCorrelation + i;
            m_sink.add(event);
            if (m_ran[i]) flow('s', event, event.correlation);
            if (m_device) continue;
            SpanEvent span;
            span.start = collective.start;
            span.duration = collective.end - collective.start;
            tracks.add(
                span,
                [&](std::size_t index, const auto&) {
                    kernelOf(collective, i, m_rows.row(ran, index));
                },
                [](std::size_t, const auto&) {});
        }
    }
    void kernelOf(const CollectiveEvent& collective, std::size_t index, const TraceRow& row) {
        m_arguments.begin({});
        addDevice(kCollectiveStream);
        addCollective(m_arguments, collective, m_group);
        TraceEvent event;
        event.category = "kernel";
        event.name = collectiveKernelName(collective.operation);
        event.row = &row;
        event.startNs = at(collective.start);
        event.durationNs = (collective.end - collective.start).ns;
        event.arguments = m_arguments.members();
        event.correlation = kCollectiveCorrelation + index;
        m_sink.add(event);
        flow('f', event, event.correlation);
    }

    /// As the event's own arguments say, where they do.
    void addDevice(std::int64_t stream) {
        const auto add = [&](const char* key, std::int64_t otherwise) {
            m_arguments.add(key, m_arguments.ownInteger(key).value_or(otherwise));
        };
        add("device", m_deviceId);
        add("context", 1);
        add("stream", stream);
    }

    Result<void> add(const LaneFacts& lane) {
        if (isStreamLane(lane.lane)) return stream(lane);
        switch (lane.role) {
            case LaneRole::kCounter:
                return m_sink.wantsSamples() ? counter(lane) : Result<void>{};
            case LaneRole::kCompute:
                return phases(lane);
            case LaneRole::kRuntime:
                return isTracerOverhead(lane.lane, lane.name) ? host(lane, "overhead")
                                                              : calls(lane);
            case LaneRole::kHost:
                return host(lane, "cpu_op");
            case LaneRole::kSync:
                return host(lane, "cuda_sync");
            default:
                return host(lane, "user_annotation");
        }
    }

    Result<void> host(const LaneFacts& lane, const char* category) {
        return onRows(lane, hostRows(lane), [&](const SpanEvent& span, TraceEvent& event) {
            event.category = category;
            event.name = text(span.name);
            m_arguments.begin(text(span.arguments));
            m_arguments.addOwn(false);
            m_arguments.addPlace(span);
            event.arguments = m_arguments.members();
            m_sink.add(event);
        });
    }

    Result<void> calls(const LaneFacts& lane) {
        return onRows(lane, hostRows(lane), [&](const SpanEvent& span, TraceEvent& event) {
            event.category = "cuda_runtime";
            event.name = callName(text(span.name));
            m_arguments.begin(text(span.arguments));
            m_arguments.addOwn(false);
            m_arguments.addPlace(span);
            event.arguments = m_arguments.members();
            event.correlation = span.correlation;
            m_sink.add(event);
            if (span.correlation != 0 && m_launched.has(span.correlation))
                flow('s', event, span.correlation);
        });
    }

    /// What the step thread did. On a rank without a device its work is the kernels.
    Result<void> phases(const LaneFacts& lane) {
        Rows works =
            m_device ? Rows{} : m_rows.of(m_devicePid, kComputeStream, "stream 0: compute");
        std::uint64_t next = kPhaseCorrelation;
        return onRows(lane, hostRows(lane), [&](const SpanEvent& span, TraceEvent& event) {
            const bool kernel = !m_device && isWork(span.phase);
            event.category = "user_annotation";
            event.name = text(span.name);
            m_arguments.begin(text(span.arguments));
            m_arguments.addOwn(false);
            m_arguments.addPlace(span);
            event.arguments = m_arguments.members();
            if (kernel) event.correlation = next++;
            m_sink.add(event);
            if (!kernel) return;
            m_arguments.begin({});
            addDevice(kComputeStream);
            m_arguments.addPlace(span);
            event.category = "kernel";
            event.row = &m_rows.row(works, 0);
            event.arguments = m_arguments.members();
            m_sink.add(event);
        });
    }

    Result<void> stream(const LaneFacts& lane) {
        const std::int64_t number =
            streamInName(lane.name).value_or(std::int64_t{lane.lane.value & 0xfffu});
        return onRows(
            lane, m_rows.of(m_devicePid, number, lane.name),
            [&](const SpanEvent& span, TraceEvent& event) { show(lane, number, span, event); });
    }
    void show(const LaneFacts& lane, std::int64_t number, const SpanEvent& span,
              TraceEvent& event) {
        std::string name(text(span.name));
        m_arguments.begin(text(span.arguments));
        addDevice(number);
        m_arguments.addOwn(true);
        event.category = "kernel";
        event.correlation = span.correlation;
        if (lane.role == LaneRole::kCopy) {
            name = copyName(name, m_arguments.own("from"), m_arguments.own("to"));
            event.category = name.starts_with("Memset") ? "gpu_memset" : "gpu_memcpy";
            const auto bytes = m_arguments.ownInteger("bytes");
            if (bytes && span.duration.ns > 0)
                m_arguments.addNumber(
                    "memory bandwidth (GB/s)",
                    static_cast<double>(*bytes) / static_cast<double>(span.duration.ns));
        }
        if (lane.role == LaneRole::kCommunication)
            if (const auto index = collectiveOf(span)) {
                addCollective(m_arguments, m_collectives[*index], m_group);
                event.correlation = kCollectiveCorrelation + *index;
            }
        m_arguments.addPlace(span);
        event.name = name;
        event.arguments = m_arguments.members();
        m_sink.add(event);
        if (event.correlation != 0 &&
            (event.correlation != span.correlation || m_launches.has(span.correlation)))
            flow('f', event, event.correlation);
    }

    Result<void> counter(const LaneFacts& lane) {
        const TraceRow row{m_hostPid, "0"};
        return m_scope.forEachSample(lane, [&](Timestamp time, double value) {
            sample(row, lane.name, lane.unit.empty() ? "value" : lane.unit, time, value);
        });
    }
    void sample(const TraceRow& row, std::string_view name, const std::string& series,
                Timestamp time, double value) {
        if (!std::isfinite(value)) return;
        m_text.clear();
        appendString(m_text, series);
        m_text += ':';
        appendNumber(m_text, value);
        TraceEvent event;
        event.phase = 'C';
        event.name = name;
        event.row = &row;
        event.startNs = at(time);
        event.arguments = m_text;
        m_sink.add(event);
    }
    void metrics() {
        const TraceRow row{m_hostPid, "0"};
        for (const MetricPoint& metric : m_scope.summary().metrics)
            if (m_scope.range().contains(metric.time))
                sample(row, metric.name, "value", metric.time, metric.value);
    }

    /// [memory] as PyTorch's allocator tells it, of what the allocator knows of.
    Result<void> memory() {
        const TraceRow row{m_hostPid, m_hostPid};
        std::int64_t total = 0;
        // Of a part it is not known what was there before.
        const bool known = m_scope.range().begin <= m_scope.summary().bounds.begin;
        return m_scope.forEachMemoryEvent(m_setting.rank, [&](const MemoryEvent& event) {
            if (event.category == MemoryCategory::kOutside) return;
            const std::int64_t bytes =
                event.action == MemoryAction::kFree ? -event.size.count : event.size.count;
            total += bytes;
            m_arguments.begin({});
            m_arguments.add("Addr", static_cast<std::int64_t>(event.address));
            m_arguments.add("Bytes", bytes);
            if (known) m_arguments.add("Total Allocated", total);
            m_arguments.add("Device Type", std::int64_t{m_device ? 1 : 0});
            m_arguments.add("Device Id", m_device ? m_deviceId : -1);
            m_arguments.add("category", toWord(event.category));
            if (event.owner != kEmptyString) m_arguments.add("owner", text(event.owner));
            if (event.step != kNoStep) m_arguments.add("step", std::int64_t{event.step.value});
            if (event.layer != kNoLayer) m_arguments.add("layer", layerTitle(event.layer));
            TraceEvent instant;
            instant.phase = 'i';
            instant.category = "cpu_instant_event";
            instant.name = "[memory]";
            instant.row = &row;
            instant.startNs = at(event.time);
            instant.arguments = m_arguments.members();
            m_sink.add(instant);
        });
    }

    ExportScope& m_scope;
    WalkSetting m_setting;
    TraceEventSink& m_sink;
    std::vector<LaneFacts> m_lanes;
    bool m_device = false;  ///< the rank has one that was traced
    std::string m_hostPid, m_devicePid;
    std::int64_t m_deviceId = 0;
    GroupFacts m_group;
    std::vector<CollectiveEvent> m_collectives;  ///< by start
    Correlations m_launches, m_launched;
    std::vector<bool> m_ran;  ///< whether their kernels are there
    RowTable m_rows;
    RecordedArguments m_arguments;
    ArgumentCheck m_check;
    std::string m_text;
};

}  // namespace

Result<void> walkRecorded(ExportScope& scope, const WalkSetting& setting, TraceEventSink& sink) {
    return RecordedWalk(scope, setting, sink).run();
}

}  // namespace shardscope::interchange::kineto_out
