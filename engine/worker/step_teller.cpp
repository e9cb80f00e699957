#include "engine/worker/step_teller.h"

#include "profiler/collectors/allocator/recording_allocator.h"
#include "profiler/collectors/host/process_usage.h"
#include "storage/model/host_clock.h"
#include "storage/model/lanes.h"
#include "storage/model/step_facts.h"

namespace shardscope::worker {
namespace {

/// A stretch or a step, written as a phase is.
EndedPhase between(std::int64_t startNs, std::int64_t endNs, StepIndex step) {
    EndedPhase whole;
    whole.report.startNs = startNs;
    whole.report.endNs = endNs;
    whole.step = step;
    return whole;
}

}  // namespace

void StepTeller::span(LaneId lane, StringId name, const EndedPhase& what, std::uint8_t depth) {
    const control::PhaseReport& report = what.report;
    SpanEvent event;
    event.start = m_session.at(report.startNs);
    event.duration = m_session.at(report.endNs) - event.start;
    event.lane = lane;
    event.name = name;
    event.arguments = m_names.arguments(report.cause);
    event.step = what.step;
    event.layer = report.layer;
    event.phase = report.phase;
    event.depth = depth;
    m_session.threadQueue().push(event);
}

void StepTeller::tell(const EndedPhase& phase) {
    const control::PhaseReport& report = phase.report;
    if (isWait(report.phase)) m_blockedNs += report.endNs - report.startNs;
    if (phase.level < CaptureLevel::kLight) return;
    const Stretch next =
        phase.step == kNoStep ? Stretch::kNone : stretchOf(report.phase, m_stretch);
    if (next != m_stretch) {
        closeStretch(report.startNs, phase.step);
        m_stretch = next;
        m_stretchStartNs = report.startNs;
    }
    span(lanes::kPhases.id, m_names.of(report.phase), phase, 0);
}

void StepTeller::closeStretch(std::int64_t nowNs, StepIndex step) {
    const Stretch ended = std::exchange(m_stretch, Stretch::kNone);
    if (ended == Stretch::kNone) return;
    span(lanes::kSteps.id, m_names.of(ended), between(m_stretchStartNs, nowNs, step), 1);
}

void StepTeller::tell(const EndedStep& step) {
    const control::StepReport& report = step.report;
    run::StepDone done = step.done;
    StepFacts& facts = done.step;
    if (done.capture >= CaptureLevel::kLight) {
        closeStretch(report.endNs, facts.step);
        span(lanes::kSteps.id, m_names.ofStep(), between(report.startNs, report.endNs, facts.step),
             0);
    }
    facts.start = m_session.at(report.startNs);
    facts.end = m_session.at(report.endNs);
    facts.emitted = m_session.emitted();
    facts.dropped = m_session.dropped();
    done.exposedCommunication = {std::exchange(m_blockedNs, 0)};
    m_outbox.post(done);
}

void StepAccount::begin() {
    if (!m_coreWait) m_coreWait.emplace();
    // What went on between steps is of no step.
    m_hostCores.skip(hostNow());
    m_waitedNs = m_coreWait->read();
    m_cpuNs = collectors::processUsage().cpuTimeNs;
}

/// Only a step that was captured from its beginning must be whole.
void StepAccount::expect(StepFacts& facts, bool skipped) const {
    if (!m_trains || !m_level.whole()) return;
    facts.expectedGathers = m_contents.gathers - (skipped ? m_contents.updateGathers : 0);
    facts.expectedReductions = m_contents.reductions;
    facts.expectedPhases = m_contents.phases;
    facts.expectedExchanges = m_contents.exchanges;
}

void StepAccount::tellWithoutCore(StepFacts& facts, std::int64_t nowNs) {
    const auto waited = m_coreWait ? m_coreWait->read() : std::nullopt;
    if (waited && m_waitedNs) facts.coreWaitNs = *waited - *m_waitedNs;
    const auto cores = m_hostCores.take(nowNs);
    if (!cores) return;
    facts.stolenNs = cores->stolen;
    facts.busyNs = cores->used;
}

run::StepDone StepAccount::end(const control::StepReport& report) {
    const collectors::ProcessUsage usage = collectors::processUsage();
    run::StepDone done;
    done.capture = m_level.level();
    done.captureReason = m_level.reason();
    done.step.rank = m_rank;
    done.step.step = {report.step};
    done.step.tokens = report.tokens;
    expect(done.step, report.skipped);
    done.step.cpuTimeNs = usage.cpuTimeNs - m_cpuNs;
    done.step.residentSet = usage.residentSet;
    tellWithoutCore(done.step, report.endNs);
    const std::int64_t peak = m_devicePeak ? m_devicePeak() : collectors::takePeakAllocatedBytes();
    done.memoryInUse = {m_bufferBytes.load() + peak};
    return done;
}

}  // namespace shardscope::worker
