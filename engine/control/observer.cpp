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
    m_outer = std::exchange(m_observer->m_open, this);
    begin();
}

PhaseScope::~PhaseScope() {
    if (m_observer == nullptr) return;
    end();
    m_observer->m_open = m_outer;
}

void PhaseScope::begin() {
    m_observer->phaseBegin(m_report.phase, m_report.layer);
    m_report.startNs = hostNow();
}

void PhaseScope::end() {
    m_report.endNs = hostNow();
    m_observer->phaseEnd(m_report);
}

PhaseBreak::PhaseBreak(Observer* observer, Phase phase, LayerIndex layer) {
    if (observer == nullptr) return;
    m_around = observer->m_open;
    if (m_around != nullptr) m_around->end();
    m_meanwhile.emplace(observer, phase, layer);
}

PhaseBreak::~PhaseBreak() {
    m_meanwhile.reset();
    if (m_around != nullptr) m_around->begin();
}

}  // namespace shardscope::control
