// A recording that Kineto did not write, as Kineto would have: what becomes what, and why, is in
// docs/kineto.md.
#include "storage/interchange/formats/nested_tracks.h"
#include "storage/interchange/kineto/out/event_writer.h"
#include "storage/interchange/kineto/out/recorded_collectives.h"
#include "storage/interchange/kineto/out/recorded_rank.h"
#include "storage/interchange/kineto/out/trace_events.h"
#include "storage/interchange/step_marks.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace shardscope::interchange::kineto_out {
namespace {

/// Of kernels that are made up: above those of collectives (recorded_collectives.cpp).
constexpr std::uint64_t kPhaseCorrelation = std::uint64_t{1} << 41;
/// A row of a process that is no lane's.
constexpr std::int64_t kStepRow = 0;

class RecordedWalk {
public:
    RecordedWalk(ExportScope& scope, const WalkSetting& setting, TraceEventSink& sink)
        : m_rank(scope, setting, sink), m_collectives(m_rank), m_rows(sink) {}

    Result<void> run() {
        m_rank.nameProcesses(m_rows);
        if (auto done = m_collectives.read(); !done) return done;
        if (auto done = findCorrelations(); !done) return done;
        steps();
        m_collectives.write(m_rows);
        for (const LaneFacts& lane : m_rank.lanes) {
            if (auto done = add(lane); !done) return done;
            if (auto done = instants(lane); !done) return done;
        }
        if (!m_rank.sink.wantsSamples()) return {};
        if (auto done = writeMemory(m_rank); !done) return done;
        if (m_rank.rank == m_rank.scope.ranks().front()) writeMetrics(m_rank);
        return {};
    }

private:
    struct Nothing {};

    Result<void> findCorrelations() {
        for (const LaneFacts& lane : m_rank.lanes) {
            const bool launches = lane.role == LaneRole::kRuntime;
            if (!launches && !isStreamLane(lane.lane)) continue;
            auto done = m_rank.scope.forEachSpan(lane, [&](const SpanEvent& span) {
                if (lane.role == LaneRole::kCommunication)
                    if (const auto index = m_collectives.of(span)) m_collectives.ran(*index);
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
        constexpr Duration kShortest{1'000};
        const HeldSteps held = m_rank.scope.heldSteps();
        Rows rows = m_rows.of(m_rank.hostPid, kStepRow, "steps");
        std::optional<StepFacts> last;
        for (const StepFacts& step : m_rank.scope.summary().steps) {
            if (step.rank != m_rank.rank || !held.has(step)) continue;
            addStep(m_rows.row(rows, 0), step.step.value, step.range());
            if (!last || step.end > last->end) last = step;
        }
        if (!last) return;
        const Timestamp end =
            std::min(m_rank.scope.summary().bounds.end, m_rank.scope.range(m_rank.rank).end);
        addStep(m_rows.row(rows, 0), std::int64_t{last->step.value} + 1,
                {last->end, std::max(end, last->end + kShortest)},
                '"' + std::string(kBehindLastStep) + "\":1");
    }
    void addStep(const TraceRow& row, std::int64_t number, TimeRange range,
                 const std::string& arguments = {}) {
        const std::string name = "ProfilerStep#" + std::to_string(number);
        TraceEvent event;
        event.category = "user_annotation";
        event.name = name;
        event.row = &row;
        event.startNs = m_rank.at(range.begin);
        event.durationNs = std::max<std::int64_t>(0, (range.end - range.begin).ns);
        event.arguments = arguments;
        m_rank.sink.add(event);
    }

    Result<void> add(const LaneFacts& lane) {
        if (isStreamLane(lane.lane)) return stream(lane);
        switch (lane.role) {
            case LaneRole::kCounter:
                return m_rank.sink.wantsSamples() ? writeCounter(m_rank, lane) : Result<void>{};
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

    /// Shows each span of a lane on a row where it overlaps nothing.
    template <class Show>
    Result<void> onRows(const LaneFacts& lane, Rows rows, Show show) {
        NestedTracks<Nothing> tracks;
        const auto end = [](std::size_t, const auto&) {};
        const auto begin = [&](std::size_t index, const auto& track) {
            TraceEvent event;
            event.row = &m_rows.row(rows, index);
            event.startNs = m_rank.at(track.back().span.start);
            event.durationNs = track.back().span.duration.ns;
            show(track.back().span, event);
        };
        return m_rank.scope.forEachSpan(
            lane, [&](const SpanEvent& span) { tracks.add(span, begin, end); });
    }
    /// The same for what the host did, with the arguments that it was recorded with.
    template <class Show>
    Result<void> onHostRows(const LaneFacts& lane, Show show) {
        Rows rows = m_rows.of(m_rank.hostPid, std::int64_t{lane.lane.value} + 1, lane.name);
        return onRows(lane, std::move(rows), [&](const SpanEvent& span, TraceEvent& event) {
            event.name = m_rank.text(span.name);
            m_arguments.begin(m_rank.text(span.arguments));
            m_arguments.addOwn(false);
            m_arguments.addPlace(span);
            event.arguments = m_arguments.members();
            show(span, event);
        });
    }

    Result<void> host(const LaneFacts& lane, const char* category) {
        return onHostRows(lane, [&](const SpanEvent&, TraceEvent& event) {
            event.category = category;
            m_rank.sink.add(event);
        });
    }

    Result<void> calls(const LaneFacts& lane) {
        return onHostRows(lane, [&](const SpanEvent& span, TraceEvent& event) {
            event.category = "cuda_runtime";
            event.name = callName(event.name);
            event.correlation = span.correlation;
            m_rank.sink.add(event);
            if (span.correlation != 0 && m_launched.has(span.correlation))
                m_rank.flow('s', event, span.correlation);
        });
    }

    /// What the step thread did. On a rank without a device its work is the kernels.
    Result<void> phases(const LaneFacts& lane) {
        Rows works;
        if (!m_rank.device)
            works = m_rows.of(m_rank.devicePid, kComputeStream, "stream 0: compute");
        std::uint64_t next = kPhaseCorrelation;
        return onHostRows(lane, [&](const SpanEvent& span, TraceEvent& event) {
            const bool kernel = !m_rank.device && isWork(span.phase);
            event.category = "user_annotation";
            if (kernel) event.correlation = next++;
            m_rank.sink.add(event);
            if (!kernel) return;
            m_arguments.begin({});
            m_rank.addDevice(m_arguments, kComputeStream);
            m_arguments.addPlace(span);
            event.category = "kernel";
            event.row = &m_rows.row(works, 0);
            event.arguments = m_arguments.members();
            m_rank.sink.add(event);
        });
    }

    Result<void> stream(const LaneFacts& lane) {
        const std::int64_t number =
            streamInName(lane.name).value_or(std::int64_t{lane.lane.value & 0xfffu});
        return onRows(lane, m_rows.of(m_rank.devicePid, number, lane.name),
                      [&](const SpanEvent& span, TraceEvent& event) {
                          m_arguments.begin(m_rank.text(span.arguments));
                          m_rank.addDevice(m_arguments, number);
                          m_arguments.addOwn(true);
                          addKernel(lane, span, event);
                      });
    }
    void addKernel(const LaneFacts& lane, const SpanEvent& span, TraceEvent& event) {
        std::string name(m_rank.text(span.name));
        event.category = "kernel";
        event.correlation = span.correlation;
        if (lane.role == LaneRole::kCopy) {
            name = copyName(name, m_arguments.own("from"), m_arguments.own("to"));
            event.category = name.starts_with("Memset") ? "gpu_memset" : "gpu_memcpy";
            addBandwidth(span);
        }
        if (lane.role == LaneRole::kCommunication)
            if (const auto index = m_collectives.of(span))
                event.correlation = m_collectives.describe(m_arguments, *index);
        m_arguments.addPlace(span);
        event.name = name;
        event.arguments = m_arguments.members();
        m_rank.sink.add(event);
        if (event.correlation != 0 &&
            (event.correlation != span.correlation || m_launches.has(span.correlation)))
            m_rank.flow('f', event, event.correlation);
    }
    void addBandwidth(const SpanEvent& copy) {
        const auto bytes = m_arguments.ownInteger("bytes");
        if (!bytes || copy.duration.ns <= 0) return;
        m_arguments.addNumber("memory bandwidth (GB/s)",
                              static_cast<double>(*bytes) / static_cast<double>(copy.duration.ns));
    }

    /// Of an imported trace of another tool.
    Result<void> instants(const LaneFacts& lane) {
        if (lane.role == LaneRole::kCounter) return {};
        std::optional<Rows> rows;
        return m_rank.scope.forEachInstant(lane, [&](const InstantEvent& instant) {
            if (!rows) rows = m_rows.of(m_rank.hostPid, lane.lane.value, lane.name);
            TraceEvent event;
            event.phase = 'i';
            event.category = "cpu_instant_event";
            event.name = m_rank.text(instant.name);
            event.row = &m_rows.row(*rows, 0);
            event.startNs = m_rank.at(instant.time);
            event.scope = letterOf(instant.scope);
            event.arguments = m_check.members(m_rank.text(instant.arguments));
            m_rank.sink.add(event);
        });
    }

    RecordedRank m_rank;
    RecordedCollectives m_collectives;
    Correlations m_launches, m_launched;
    RowTable m_rows;
    RecordedArguments m_arguments;
    ArgumentCheck m_check;
};

}  // namespace

Result<void> walkRecorded(ExportScope& scope, const WalkSetting& setting, TraceEventSink& sink) {
    return RecordedWalk(scope, setting, sink).run();
}

}  // namespace shardscope::interchange::kineto_out
