#include "engine/worker/recording_observer.h"

#include "profiler/capture/device_annotation.h"
#include "profiler/collectors/allocator/recording_allocator.h"
#include "profiler/collectors/host/process_usage.h"
#include "storage/model/host_clock.h"

#include <algorithm>
#include <utility>

namespace shardscope::worker {

namespace {

void pushLaunchContext(const capture::Context& context) {
    const capture::DeviceAnnotator* annotator = capture::deviceAnnotator().load();
    if (annotator == nullptr) return;
    annotator->push(
        capture::AnnotationStack::kContext,
        capture::pack({context.step, context.layer, context.phase, context.operatorName}));
}

void popLaunchContext() {
    const capture::DeviceAnnotator* annotator = capture::deviceAnnotator().load();
    if (annotator != nullptr) annotator->pop(capture::AnnotationStack::kContext);
}

}  // namespace

RecordingObserver::RecordingObserver(const run::RunConfig& config, RankId rank,
                                     capture::CaptureSession& session, Outbox& outbox)
    : m_config(config),
      m_rank(rank),
      m_session(session),
      m_outbox(outbox),
      m_contents(theory::stepContents(config)),
      m_names(session),
      m_level(config.capture),
      m_collectives(m_names, m_level, session) {
    for (const FixedLane& lane : {lanes::kSteps, lanes::kPhases, lanes::kCommunication,
                                  lanes::kResidentSet, lanes::kCpuTime})
        session.declareLane(lane);
}

void RecordingObserver::span(LaneId lane, StringId name, std::int64_t startNs, std::int64_t endNs,
                             const EndedPhase& phase, std::uint8_t depth) {
    SpanEvent event;
    event.start = m_session.at(startNs);
    event.duration = {endNs - startNs};
    event.lane = lane;
    event.name = name;
    event.arguments = m_names.arguments(phase.report.cause);
    event.step = phase.step;
    event.layer = phase.report.layer;
    event.phase = phase.report.phase;
    event.depth = depth;
    m_session.threadQueue().push(event);
}

void RecordingObserver::stepBegin(std::int32_t step) {
    capture::threadContext() = {StepIndex{step}, kNoLayer, Phase::kNone, kEmptyString};
    m_level.begin(step);
    m_stepCpuNs = collectors::processUsage().cpuTimeNs;
    if (m_timeline != nullptr) m_stepMark = m_timeline->mark();
}

void RecordingObserver::phaseBegin(Phase phase, LayerIndex layer) {
    capture::Context& context = capture::threadContext();
    context.phase = phase;
    context.layer = layer;
    pushLaunchContext(context);
    if (m_timeline != nullptr) m_phaseMark = m_timeline->mark();
}

void RecordingObserver::phaseEnd(const control::PhaseReport& report) {
    popLaunchContext();
    capture::Context& context = capture::threadContext();
    context.phase = Phase::kNone;
    context.layer = kNoLayer;
    EndedPhase ended{report, context.step, m_phaseMark, {}};
    if (m_timeline == nullptr) {
        tell(ended);
        return;
    }
    ended.end = m_timeline->mark();
    queue(ended);
}

void RecordingObserver::tell(const EndedPhase& phase) {
    const control::PhaseReport& report = phase.report;
    if (report.phase == Phase::kWaitGather || report.phase == Phase::kWaitReduction ||
        report.phase == Phase::kWaitOther) {
        m_blockedNs += report.endNs - report.startNs;
    }
    if (!m_level.takes(CaptureLevel::kLight)) return;
    const Stretch next =
        phase.step == kNoStep ? Stretch::kNone : stretchOf(report.phase, m_stretch);
    if (next != m_stretch) {
        closeStretch(report.startNs, phase.step);
        m_stretch = next;
        m_stretchStartNs = report.startNs;
    }
    span(lanes::kPhases.id, m_names.of(report.phase), report.startNs, report.endNs, phase, 0);
}

void RecordingObserver::closeStretch(std::int64_t nowNs, StepIndex step) {
    if (m_stretch == Stretch::kNone) return;
    EndedPhase stretch;
    stretch.step = step;
    span(lanes::kSteps.id, m_names.of(m_stretch), m_stretchStartNs, nowNs, stretch, 1);
    m_stretch = Stretch::kNone;
}

void RecordingObserver::stepEnd(const control::StepReport& report) {
    capture::threadContext() = {};
    const collectors::ProcessUsage usage = collectors::processUsage();
    EndedStep ended{report, {}, m_stepMark, {}};
    ended.done.capture = m_level.level();
    ended.done.captureReason = m_level.reason();
    StepFacts& facts = ended.done.step;
    facts.rank = m_rank;
    facts.step = {report.step};
    facts.tokens = report.tokens;
    if (m_level.whole()) {
        facts.expectedGathers =
            m_contents.gathers - (report.skipped ? m_contents.updateGathers : 0);
        facts.expectedReductions = m_contents.reductions;
        facts.expectedPhases = m_contents.phases;
    }
    facts.cpuTimeNs = usage.cpuTimeNs - m_stepCpuNs;
    facts.residentSet = usage.residentSet;
    const std::int64_t peak = m_devicePeak ? m_devicePeak() : collectors::takePeakAllocatedBytes();
    ended.done.memoryInUse = {m_bufferBytes.load() + peak};
    if (m_timeline == nullptr) {
        tell(ended);
        return;
    }
    ended.end = m_timeline->mark();
    queue(std::move(ended));
}

void RecordingObserver::tell(EndedStep& step) {
    const control::StepReport& report = step.report;
    StepFacts& facts = step.done.step;
    if (m_level.takes(CaptureLevel::kLight)) {
        closeStretch(report.endNs, facts.step);
        EndedPhase whole;
        whole.step = facts.step;
        span(lanes::kSteps.id, m_names.ofStep(), report.startNs, report.endNs, whole, 0);
    }
    facts.start = m_session.at(report.startNs);
    facts.end = m_session.at(report.endNs);
    facts.emitted = m_session.emitted();
    facts.dropped = m_session.dropped();
    step.done.exposedCommunication = {std::exchange(m_blockedNs, 0)};
    m_outbox.post(step.done);
}

void RecordingObserver::queue(Ended ended) {
    const std::lock_guard lock(m_mutex);
    m_ended.push_back(std::move(ended));
}

bool RecordingObserver::passed(const Ended& ended, bool everything) {
    const control::DeviceEvent last = std::visit([](const auto& each) { return each.end; }, ended);
    if (everything) m_timeline->await(last);
    return m_timeline->passed(last);
}

/// Replaces the host's times by the device's.
void RecordingObserver::readMarks(Ended& ended) {
    std::visit(
        [this](auto& each) {
            each.report.startNs = m_timeline->hostNs(each.begin);
            each.report.endNs = std::max(each.report.startNs, m_timeline->hostNs(each.end));
            m_timeline->release(each.begin);
            m_timeline->release(each.end);
        },
        ended);
}

void RecordingObserver::tellPassed(bool everything) {
    if (m_timeline == nullptr) return;
    const std::lock_guard telling(m_telling);
    m_timeline->refresh();
    for (;;) {
        Ended* front = nullptr;
        {
            const std::lock_guard lock(m_mutex);
            if (m_ended.empty()) return;
            front = &m_ended.front();  // a deque: stays where it is
        }
        if (!passed(*front, everything)) return;
        readMarks(*front);
        std::visit([this](auto& each) { tell(each); }, *front);
        const std::lock_guard lock(m_mutex);
        m_ended.pop_front();
    }
}

void RecordingObserver::buffer(const control::BufferReport& report) {
    const bool allocates = report.action == MemoryAction::kAllocate;
    m_bufferBytes.fetch_add(allocates ? report.sizeBytes : -report.sizeBytes);
    // Buffers are few and live long: in steps that are not captured too, so that sums stay right.
    if (m_config.capture < CaptureLevel::kFull) return;
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
    m_outbox.post(
        run::MetricReported{{toWord(metric), StepIndex{step}, m_session.at(hostNow()), value}});
}

void RecordingObserver::sampleUsage() {
    if (!m_level.takes(CaptureLevel::kLight)) return;
    const collectors::ProcessUsage usage = collectors::processUsage();
    const Timestamp time = m_session.at(hostNow());
    m_session.push(
        CounterEvent{time, lanes::kResidentSet.id, static_cast<double>(usage.residentSet.count)});
    m_session.push(CounterEvent{time, lanes::kCpuTime.id, static_cast<double>(usage.cpuTimeNs)});
}

}  // namespace shardscope::worker
