#include "engine/worker/recording_observer.h"

#include "profiler/capture/device_annotation.h"
#include "profiler/collectors/host/process_usage.h"
#include "storage/model/collective_key.h"
#include "storage/model/host_clock.h"
#include "storage/model/lanes.h"

#include <fmt/format.h>

#include <algorithm>

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

void CollectiveRecorder::report(const control::CollectiveReport& report) {
    if (auto* precision = m_precision.load()) precision->collective(report);
    if (!m_level.takesCollective(report.step)) return;
    const CollectiveEvent event = eventOf(report);
    if (m_taker) {
        m_taker(event, report.captured);
    } else {
        store(event);
        if (m_level.takes(CaptureLevel::kFull)) drawLevels(report, event);
    }
}

/// Beneath the collective, on its lane and with its number.
void CollectiveRecorder::drawLevels(const control::CollectiveReport& report,
                                    const CollectiveEvent& event) {
    for (const control::LevelReport& level : report.levels) {
        SpanEvent drawn = spanOf(event);
        drawn.start = m_session.at(level.startNs);
        drawn.duration = m_session.at(level.endNs) - drawn.start;
        drawn.name = m_names.of(level.level);
        drawn.arguments = kEmptyString;
        drawn.depth = 1;
        m_session.threadQueue().push(drawn);
    }
}

CollectiveEvent CollectiveRecorder::eventOf(const control::CollectiveReport& report) {
    CollectiveEvent event;
    event.operation = report.operation;
    event.dtype = report.dtype;
    event.cause = report.cause;
    event.layer = report.layer;
    event.step = {report.step};
    event.group = report.group;
    event.sequence = report.sequence;
    event.size = {report.sizeBytes};
    event.algorithm = m_session.intern(report.algorithm);
    event.protocol = m_session.intern(report.protocol);
    event.issue = m_session.at(report.issueNs);
    event.start = m_session.at(report.startNs);
    event.end = m_session.at(report.endNs);
    event.arrivals = {report.arrivalsNs.size(),
                      [&](std::size_t place) { return m_session.at(report.arrivalsNs[place]); }};
    return event;
}

/// Communicators of groups work beside each other, so each has a lane.
LaneId CollectiveRecorder::laneOf(std::uint32_t group) {
    if (group == 0) return lanes::kCommunication.id;
    const MutexLock lock(m_mutex);
    const auto found = std::find(m_groups.begin(), m_groups.end(), group);
    const auto index = static_cast<std::size_t>(found - m_groups.begin());
    if (found != m_groups.end()) return lanes::kGroups.at(index);
    if (index == lanes::kGroups.size())  // more than any strategy has
        return lanes::kCommunication.id;
    m_groups.push_back(group);
    m_session.declareLane(lanes::kGroups.at(index), lanes::kCommunication.role,
                          fmt::format("{} in group {}", lanes::kCommunication.name, group), {},
                          lanes::kFirstGroupOrder + static_cast<std::int32_t>(index));
    return lanes::kGroups.at(index);
}

void CollectiveRecorder::store(const CollectiveEvent& event) {
    m_session.push(event);
    m_session.threadQueue().push(spanOf(event));
}

SpanEvent CollectiveRecorder::spanOf(const CollectiveEvent& event) {
    SpanEvent drawn;
    drawn.start = event.start;
    drawn.duration = event.end - event.start;
    drawn.lane = laneOf(event.group);
    drawn.name = m_names.of(event.operation);
    drawn.arguments = m_names.arguments(event.cause);
    drawn.correlation = CollectiveKey::of(event).correlation();
    drawn.step = event.step;
    drawn.layer = event.layer;
    return drawn;
}

}  // namespace shardscope::worker
