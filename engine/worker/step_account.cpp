#include "engine/worker/step_account.h"

#include "profiler/collectors/allocator/recording_allocator.h"
#include "profiler/collectors/host/process_usage.h"

namespace shardscope::worker {

void StepAccount::begin() {
    m_cpuNs = collectors::processUsage().cpuTimeNs;
}

/// Only a step that was captured from its beginning must be whole.
void StepAccount::expect(StepFacts& facts, bool skipped) const {
    if (!m_level.whole()) return;
    facts.expectedGathers = m_contents.gathers - (skipped ? m_contents.updateGathers : 0);
    facts.expectedReductions = m_contents.reductions;
    facts.expectedPhases = m_contents.phases;
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
    const std::int64_t peak = m_devicePeak ? m_devicePeak() : collectors::takePeakAllocatedBytes();
    done.memoryInUse = {m_bufferBytes.load() + peak};
    return done;
}

}  // namespace shardscope::worker
