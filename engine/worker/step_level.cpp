#include "engine/worker/step_level.h"

namespace shardscope::worker {

void StepLevel::decide(CaptureLevel level, DetailReason reason, CaptureLevel next) {
    m_fetchedAhead = m_next.load() >= CaptureLevel::kLight;
    m_level.store(level);
    m_next.store(next);
    m_reason = reason;
}

void StepLevel::begin(std::int32_t step) {
    m_step.store(step);
    m_whole = takes(CaptureLevel::kLight) && m_fetchedAhead;
}

bool StepLevel::takesCollective(std::int32_t step) const {
    const CaptureLevel level = step > m_step.load() ? m_next.load() : m_level.load();
    return level >= CaptureLevel::kLight;
}

}  // namespace shardscope::worker
