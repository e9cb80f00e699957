#include "engine/control/observer.h"

namespace shardscope::control {

MemoryUse& threadMemoryUse() {
    thread_local MemoryUse use;
    return use;
}

PhaseScope::PhaseScope(Observer* observer, Phase phase, LayerIndex layer, Cause cause)
    : m_observer(observer) {
    if (m_observer == nullptr) return;
    m_report.phase = phase;
    m_report.layer = layer;
    m_report.cause = cause;
    m_observer->phaseBegin(phase, layer);
    m_report.startNs = hostNow();
}

PhaseScope::~PhaseScope() {
    if (m_observer == nullptr) return;
    m_report.endNs = hostNow();
    m_observer->phaseEnd(m_report);
}

}  // namespace shardscope::control
