#include "engine/worker/step_level.h"

namespace shardscope::worker {

void StepLevel::decide(CaptureLevel level, DetailReason reason, CaptureLevel next) {
    m_fetchedAhead = m_next >= CaptureLevel::kLight;
    m_level.store(level);
    m_next = next;
    m_reason = reason;
}

void StepLevel::begin(std::int32_t step) {
    m_steps.store({step, m_steps.load().level, m_level.load(), m_next});
    m_whole = takes(CaptureLevel::kLight) && m_fetchedAhead;
}

bool StepLevel::takesCollective(std::int32_t step) const {
    if (StepIndex{step} == kNoStep) return takes(CaptureLevel::kLight);
    const Steps steps = m_steps.load();
    const CaptureLevel level = step > steps.step   ? steps.next
                               : step < steps.step ? steps.before
                                                   : steps.level;
    return level >= CaptureLevel::kLight;
}

}  // namespace shardscope::worker
