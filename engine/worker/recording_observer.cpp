#include "engine/worker/recording_observer.h"

#include "profiler/capture/device_annotation.h"
#include "profiler/collectors/host/process_usage.h"
#include "storage/model/host_clock.h"
#include "storage/model/lanes.h"

namespace shardscope::worker {

RecordingObserver::RecordingObserver(const run::RunConfig& config, RankId rank,
                                     capture::CaptureSession& session, Outbox& outbox)
    : m_rank(rank),
      m_recordsBuffers(config.capture >= CaptureLevel::kFull),
      m_session(session),
      m_outbox(outbox),
      m_names(session),
      m_level(config.capture),
      m_account(config, rank, m_level),
      m_collectives(m_names, m_level, session),
      m_teller(m_names, session, outbox),
      m_marksGraphs(config.capture >= CaptureLevel::kLight) {
    for (const FixedLane& lane : {lanes::kSteps, lanes::kPhases, lanes::kCommunication,
                                  lanes::kResidentSet, lanes::kCpuTime})
        session.declareLane(lane);
}

void RecordingObserver::stepBegin(std::int32_t step) {
    capture::threadContext() = {StepIndex{step}, kNoLayer, Phase::kNone, kEmptyString};
    // What is launched between phases, by partitioning and optimizer, belongs to the step as well.
    capture::pushLaunchContext({StepIndex{step}, kNoLayer, Phase::kNone, kEmptyString});
    m_level.begin(step);
    m_place.begin({step});
    m_account.begin();
    if (m_backlog) m_backlog->beginStep();
}

void RecordingObserver::stepEnd(const control::StepReport& report) {
    capture::popLaunchContext();
    capture::threadContext() = {};
    m_place.leave();
    const EndedStep ended{report, m_account.end(report)};
    if (m_backlog) {
        m_backlog->endStep(ended);
    } else {
        m_teller.tell(ended);
    }
}

void RecordingObserver::phaseBegin(Phase phase, LayerIndex layer) {
    capture::Context& context = capture::threadContext();
    context.phase = phase;
    context.layer = layer;
    m_place.enter(phase, layer);
    capture::pushLaunchContext({context.step, layer, phase, context.operatorName});
    const bool marks =
        m_backlog && m_backlog->captures() ? m_marksGraphs : m_level.takes(CaptureLevel::kLight);
    m_marksPhase = m_backlog.has_value() && (isWait(phase) || marks);
    if (m_marksPhase) m_backlog->beginPhase();
}

void RecordingObserver::phaseEnd(const control::PhaseReport& report) {
    capture::popLaunchContext();
    capture::Context& context = capture::threadContext();
    context.phase = Phase::kNone;
    context.layer = kNoLayer;
    m_place.leave();
    const EndedPhase ended{report, context.step, m_level.level()};
    if (m_marksPhase) m_backlog->endPhase(ended);
    if (!m_backlog) m_teller.tell(ended);
}

void RecordingObserver::timeOn(DeviceTimeline& timeline) {
    m_backlog.emplace(timeline, m_teller);
    m_graphs.emplace(*m_backlog, m_level);
}

control::GraphRecorder* RecordingObserver::graphs() {
    return m_graphs ? &*m_graphs : nullptr;
}

bool RecordingObserver::wantsIdle() {
    return m_wantsIdle && m_wantsIdle();
}

void RecordingObserver::deviceIdle() {
    if (m_whenIdle) m_whenIdle();
}

void RecordingObserver::tellPassed(bool everything) {
    if (m_backlog) m_backlog->tellPassed(everything);
}

void RecordingObserver::collective(const control::CollectiveReport& report) {
    m_collectives.report(report);
}

void RecordingObserver::buffer(const control::BufferReport& report) {
    const bool allocates = report.action == MemoryAction::kAllocate;
    m_account.addBuffer(allocates ? report.sizeBytes : -report.sizeBytes);
    // Buffers are few and live long: in steps that are not captured too, so that sums stay right.
    if (!m_recordsBuffers) return;
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
