#include "engine/worker/step_account.h"

#include "profiler/collectors/allocator/recording_allocator.h"
#include "profiler/collectors/host/process_usage.h"

namespace shardscope::worker {

void StepAccount::begin() {
    if (!m_coreWait) {
        m_coreWait.emplace();
        static_cast<void>(m_stolen.take(0));
    }
    m_waitedNs = m_coreWait->read();
    m_cpuNs = collectors::processUsage().cpuTimeNs;
}

/// Only a step that was captured from its beginning must be whole.
void StepAccount::expect(StepFacts& facts, bool skipped) const {
    if (!m_trains || !m_level.whole()) return;
    facts.expectedGathers = m_contents.gathers - (skipped ? m_contents.updateGathers : 0);
    facts.expectedReductions = m_contents.reductions;
    facts.expectedPhases = m_contents.phases;
}

void StepAccount::tellWithoutCore(StepFacts& facts, std::int64_t nowNs) {
    const auto waited = m_coreWait ? m_coreWait->read() : std::nullopt;
    if (waited && m_waitedNs) facts.coreWaitNs = *waited - *m_waitedNs;
    facts.stolenNs = m_stolen.take(nowNs).value_or(facts.stolenNs);
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
