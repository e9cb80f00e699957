#include "engine/worker/device_backlog.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace shardscope::worker {
namespace {

class RecordedPhases final : public control::RecordedGraph {
public:
    RecordedPhases(DeviceBacklog& backlog, const StepLevel& level, CapturedPhases phases)
        : m_backlog(backlog), m_level(level), m_phases(std::move(phases)) {}
    /// Marks that are still to be looked at stay what they are.
    ~RecordedPhases() override {
        if (!m_replay || m_replay->reported) m_backlog.release(m_phases);
    }
    RecordedPhases(const RecordedPhases&) = delete;
    RecordedPhases& operator=(const RecordedPhases&) = delete;

    void awaitReported() override {
        if (m_replay) m_backlog.awaitReported(*m_replay);
        m_replay.reset();
    }
    void beforeLaunch() override {}
    void launched(std::int32_t step) override {
        if (m_phases->empty()) return;
        m_replay = m_backlog.addReplay(m_phases, StepIndex{step}, m_level.level());
    }

private:
    DeviceBacklog& m_backlog;
    const StepLevel& m_level;
    const CapturedPhases m_phases;
    std::shared_ptr<PhaseReplay> m_replay;  ///< the last one; null: it was reported
};

}  // namespace

control::DeviceEvent DeviceBacklog::mark() {
    return m_captured ? m_timeline.markInGraph() : m_timeline.mark();
}

void DeviceBacklog::endPhase(const EndedPhase& phase) {
    if (!m_captured) return add(phase, m_phaseMark);
    m_captured->push_back({phase, m_phaseMark, mark()});
}

void DeviceBacklog::add(const std::variant<EndedPhase, EndedStep, Replay>& what,
                        control::DeviceEvent begin) {
    const control::DeviceEvent end = m_timeline.mark();
    const MutexLock lock(m_mutex);
    m_marked.push_back({what, begin, end});
}

void DeviceBacklog::beginCapture() {
    m_captured.emplace();
}

CapturedPhases DeviceBacklog::endCapture() {
    auto phases = std::make_shared<const std::vector<CapturedPhase>>(std::move(*m_captured));
    m_captured.reset();
    return phases;
}

DeviceBacklog::Replay DeviceBacklog::addReplay(const CapturedPhases& phases, StepIndex step,
                                               CaptureLevel level) {
    auto replay = std::make_shared<PhaseReplay>();
    replay->phases = phases;
    replay->step = step;
    replay->level = level;
    replay->end = m_timeline.mark();
    const MutexLock lock(m_mutex);
    m_marked.push_back({replay, {}, replay->end});
    return replay;
}

void DeviceBacklog::awaitReported(PhaseReplay& replay) {
    if (replay.reported) return;
    m_timeline.await(replay.end);
    tellPassed(false);
}

void DeviceBacklog::release(const CapturedPhases& phases) noexcept {
    for (const CapturedPhase& phase : *phases) {
        m_timeline.release(phase.begin);
        m_timeline.release(phase.end);
    }
}

/// Stays where it is while more is added; null: there is none.
DeviceBacklog::Marked* DeviceBacklog::first() {
    const MutexLock lock(m_mutex);
    return m_marked.empty() ? nullptr : &m_marked.front();
}

void DeviceBacklog::dropFirst() {
    const MutexLock lock(m_mutex);
    m_marked.pop_front();
}

bool DeviceBacklog::passed(const Marked& marked, bool everything) {
    if (everything) m_timeline.await(marked.end);
    return m_timeline.passed(marked.end);
}

/// With the device's times instead of the host's.
template <class Ended>
void DeviceBacklog::tell(Ended ended, control::DeviceEvent begin, control::DeviceEvent end) {
    const auto [startNs, endNs] = m_timeline.hostNs(begin, end);
    ended.report.startNs = startNs;
    ended.report.endNs = std::max(startNs, endNs);
    m_teller.tell(ended);
}

void DeviceBacklog::tell(const Replay& replay) {
    for (const CapturedPhase& captured : *replay->phases) {
        EndedPhase phase = captured.phase;
        phase.step = replay->step;
        phase.level = replay->level;
        tell(phase, captured.begin, captured.end);
    }
    m_timeline.release(replay->end);
    replay->reported = true;
}

void DeviceBacklog::tell(const Marked& marked) {
    if (const auto* replay = std::get_if<Replay>(&marked.what)) return tell(*replay);
    if (const auto* phase = std::get_if<EndedPhase>(&marked.what))
        tell(*phase, marked.begin, marked.end);
    if (const auto* step = std::get_if<EndedStep>(&marked.what))
        tell(*step, marked.begin, marked.end);
    m_timeline.release(marked.begin);
    m_timeline.release(marked.end);
}

void DeviceBacklog::tellPassed(bool everything) {
    const MutexLock telling(m_telling);
    m_timeline.refresh();
    while (const Marked* marked = first()) {
        if (!passed(*marked, everything)) return;
        tell(*marked);
        dropFirst();
    }
}

void GraphPhases::beginCapture(std::string) {
    m_backlog.beginCapture();
}

std::unique_ptr<control::RecordedGraph> GraphPhases::endCapture() {
    return std::make_unique<RecordedPhases>(m_backlog, m_level, m_backlog.endCapture());
}

void GraphPhases::abandonCapture() noexcept {
    m_backlog.release(m_backlog.endCapture());
}

}  // namespace shardscope::worker
