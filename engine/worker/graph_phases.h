// Phases inside device graphs: marked once, when a graph is captured, and told of at each replay as
// those of the replay's step. Step thread.
#pragma once

#include "engine/control/graph_recorder.h"
#include "engine/worker/device_backlog.h"
#include "engine/worker/step_level.h"

#include <memory>
#include <string>

namespace shardscope::worker {

class GraphPhases final : public control::GraphRecorder {
public:
    /// Both outlive it.
    GraphPhases(DeviceBacklog& backlog, const StepLevel& level)
        : m_backlog(backlog), m_level(level) {}

    void beginCapture(std::string name) override;
    std::unique_ptr<control::RecordedGraph> endCapture() override;
    void abandonCapture() noexcept override;

private:
    DeviceBacklog& m_backlog;
    const StepLevel& m_level;
};

}  // namespace shardscope::worker
