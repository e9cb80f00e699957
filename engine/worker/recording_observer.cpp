#include "engine/worker/recording_observer.h"

#include "profiler/collectors/allocator/recording_allocator.h"
#include "profiler/collectors/host/process_usage.h"

namespace shardscope::worker {

using control::CaptureLevel;

RecordingObserver::RecordingObserver(const control::RunConfig& config, RankId rank,
                                     capture::CaptureSession& session, Outbox& outbox)
    : m_config(config),
      m_rank(rank),
      m_session(session),
      m_outbox(outbox),
      m_contents(theory::stepContents(config)),
      m_level(config.capture) {
    for (int i = 0; i <= static_cast<int>(Phase::kOther); ++i) {
        m_phaseNames[static_cast<std::size_t>(i)] = session.intern(toWord(static_cast<Phase>(i)));
    }
    for (int i = 1; i <= static_cast<int>(CollectiveOp::kBarrier); ++i) {
        m_operationNames[static_cast<std::size_t>(i)] =
            session.intern(toWord(static_cast<CollectiveOp>(i)));
    }
    for (int i = 1; i <= static_cast<int>(Cause::kStop); ++i) {
        m_causeArguments[static_cast<std::size_t>(i)] =
            session.intern(std::string("{\"cause\":\"") + toWord(static_cast<Cause>(i)) + "\"}");
    }
    m_stretchNames = {kEmptyString, session.intern("forward"), session.intern("head"),
                      session.intern("backward"), session.intern("optimizer")};
    m_stepName = session.intern("step");
    m_algorithm = session.intern("direct");
    m_protocol = session.intern("shared memory");
    session.declareLane(kStepLane, LaneRole::kRange, "step");
    session.declareLane(kComputeLane, LaneRole::kCompute, "compute");
    session.declareLane(kCommunicationLane, LaneRole::kCommunication, "communication");
    session.declareLane(kResidentSetLane, LaneRole::kCounter, "resident set", "bytes");
    session.declareLane(kCpuTimeLane, LaneRole::kCounter, "CPU time", "ns");
}

RecordingObserver::Stretch RecordingObserver::stretchOf(Phase phase, Stretch current) {
    switch (phase) {
        case Phase::kForward:
            return Stretch::kForward;
        case Phase::kHead:
            return Stretch::kHead;
        case Phase::kBackward:
            return Stretch::kBackward;
        case Phase::kClip:
        case Phase::kOptimizer:
            return Stretch::kOptimizer;
        default:
            return current;  // waits belong to where they happen
    }
}

void RecordingObserver::span(LaneId lane, StringId name, std::int64_t startNs, std::int64_t endNs,
                             const control::PhaseReport& report, std::uint8_t depth) {
    SpanEvent event;
    event.start = m_session.at(startNs);
    event.duration = {endNs - startNs};
    event.lane = lane;
    event.name = name;
    event.arguments = m_causeArguments[static_cast<std::size_t>(report.cause)];
    event.step = capture::threadContext().step;
    event.layer = report.layer;
    event.phase = report.phase;
    event.depth = depth;
    m_session.threadQueue().push(event);
}

void RecordingObserver::stepBegin(std::int32_t step) {
    capture::threadContext() = {StepIndex{step}, kNoLayer, Phase::kNone, kEmptyString};
    m_blockedNs = 0;
    m_stretch = Stretch::kNone;
    m_stepWhole = takes(CaptureLevel::kLight);
    m_stepCpuNs = collectors::processUsage().cpuTimeNs;
    m_stepStartNs = control::now();
}

void RecordingObserver::closeStretch(std::int64_t nowNs) {
    if (m_stretch == Stretch::kNone) return;
    span(kStepLane, m_stretchNames[static_cast<std::size_t>(m_stretch)], m_stretchStartNs, nowNs,
         {}, 1);
    m_stretch = Stretch::kNone;
}

void RecordingObserver::phaseBegin(Phase phase, LayerIndex layer) {
    capture::Context& context = capture::threadContext();
    context.phase = phase;
    context.layer = layer;
    if (context.step == kNoStep || !takes(CaptureLevel::kLight)) return;
    const Stretch next = stretchOf(phase, m_stretch);
    if (next == m_stretch) return;
    const std::int64_t now = control::now();
    closeStretch(now);
    m_stretch = next;
    m_stretchStartNs = now;
}

void RecordingObserver::phaseEnd(const control::PhaseReport& report) {
    capture::Context& context = capture::threadContext();
    context.phase = Phase::kNone;
    context.layer = kNoLayer;
    if (report.phase == Phase::kWaitGather || report.phase == Phase::kWaitReduction ||
        report.phase == Phase::kWaitOther) {
        m_blockedNs += report.endNs - report.startNs;
    }
    if (!takes(CaptureLevel::kLight)) return;
    span(kComputeLane, m_phaseNames[static_cast<std::size_t>(report.phase)], report.startNs,
         report.endNs, report, 0);
}

void RecordingObserver::stepEnd(const control::StepReport& report) {
    capture::Context& context = capture::threadContext();
    if (takes(CaptureLevel::kLight)) {
        closeStretch(report.endNs);
        span(kStepLane, m_stepName, report.startNs, report.endNs, {}, 0);
    }
    context = {};
    const collectors::ProcessUsage usage = collectors::processUsage();
    control::StepDone done;
    StepFacts& facts = done.step;
    facts.rank = m_rank;
    facts.step = {report.step};
    facts.start = m_session.at(report.startNs);
    facts.end = m_session.at(report.endNs);
    facts.tokens = report.tokens;
    if (m_stepWhole) {
        facts.expectedGathers = m_contents.gathers;
        facts.expectedReductions = m_contents.reductions;
        facts.expectedPhases = m_contents.phases;
    }
    facts.emitted = m_session.emitted();
    facts.dropped = m_session.dropped();
    facts.cpuTimeNs = usage.cpuTimeNs - m_stepCpuNs;
    facts.residentSet = usage.residentSet;
    done.memoryInUse = {m_bufferBytes.load() + collectors::takePeakAllocatedBytes()};
    done.exposedCommunication = {m_blockedNs};
    m_outbox.post(done);
}

void RecordingObserver::collective(const control::CollectiveReport& report) {
    if (!takes(CaptureLevel::kLight)) return;
    CollectiveEvent event;
    event.operation = report.operation;
    event.dtype = report.dtype;
    event.cause = report.cause;
    event.layer = report.layer;
    event.step = {report.step};
    event.group = report.group;
    event.sequence = report.sequence;
    event.size = {report.sizeBytes};
    event.algorithm = m_algorithm;
    event.protocol = m_protocol;
    event.issue = m_session.at(report.issueNs);
    event.start = m_session.at(report.startNs);
    event.end = m_session.at(report.endNs);
    for (std::int64_t arrival : report.arrivalsNs) event.arrivals.push_back(m_session.at(arrival));
    m_session.push(event);

    SpanEvent drawn;
    drawn.start = event.start;
    drawn.duration = event.end - event.start;
    drawn.lane = kCommunicationLane;
    drawn.name = m_operationNames[static_cast<std::size_t>(report.operation)];
    drawn.arguments = m_causeArguments[static_cast<std::size_t>(report.cause)];
    drawn.correlation = report.sequence;
    drawn.step = event.step;
    drawn.layer = report.layer;
    m_session.threadQueue().push(drawn);
}

void RecordingObserver::buffer(const control::BufferReport& report) {
    const bool allocates = report.action == MemoryAction::kAllocate;
    m_bufferBytes.fetch_add(allocates ? report.sizeBytes : -report.sizeBytes);
    if (!takes(CaptureLevel::kFull)) return;
    MemoryEvent event;
    event.time = m_session.at(report.timeNs);
    event.address = reinterpret_cast<std::uint64_t>(report.address);
    event.size = {report.sizeBytes};
    event.action = report.action;
    event.category = report.category;
    event.owner = m_session.intern(report.owner);
    event.layer = report.layer;
    m_session.threadQueue().push(event);
}

void RecordingObserver::metric(control::Metric metric, std::int32_t step, double value) {
    if (m_rank.value != 0) return;  // reduced already: one word for the run
    m_outbox.post(control::MetricReported{
        {control::toWord(metric), StepIndex{step}, m_session.at(control::now()), value}});
}

void RecordingObserver::sampleUsage() {
    if (!takes(CaptureLevel::kLight)) return;
    const collectors::ProcessUsage usage = collectors::processUsage();
    const Timestamp time = m_session.at(control::now());
    m_session.push(
        CounterEvent{time, kResidentSetLane, static_cast<double>(usage.residentSet.count)});
    m_session.push(CounterEvent{time, kCpuTimeLane, static_cast<double>(usage.cpuTimeNs)});
}

}  // namespace shardscope::worker
