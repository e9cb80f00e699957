#include "engine/worker/graph_phases.h"

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
        if (!m_replay || m_replay->told) m_backlog.release(m_phases);
    }
    RecordedPhases(const RecordedPhases&) = delete;
    RecordedPhases& operator=(const RecordedPhases&) = delete;

    void awaitTold() override {
        if (m_replay) m_backlog.awaitTold(*m_replay);
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
    std::shared_ptr<PhaseReplay> m_replay;  ///< the last one; null: it was told of
};

}  // namespace

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
