#include "engine/worker/step_level.h"

namespace shardscope::worker {

void StepLevel::decide(CaptureLevel level, DetailReason reason, CaptureLevel next) {
    m_fetchedAhead = m_next >= CaptureLevel::kLight;
    m_level.store(level);
    m_next = next;
    m_reason = reason;
}

void StepLevel::begin(std::int32_t step) {
    const Steps last = m_steps.load();
    m_steps.store({step, last.before, last.level, m_level.load(), m_next});
    m_whole = takes(CaptureLevel::kLight) && m_fetchedAhead;
}

bool StepLevel::takesCollective(std::int32_t step) const {
    if (StepIndex{step} == kNoStep) return takes(CaptureLevel::kLight);
    const Steps steps = m_steps.load();
    if (step > steps.step) return steps.next >= CaptureLevel::kLight;
    if (step == steps.step) return steps.level >= CaptureLevel::kLight;
    const CaptureLevel level = step + 1 == steps.step ? steps.before : steps.earlier;
    return level >= CaptureLevel::kLight;
}

}  // namespace shardscope::worker
