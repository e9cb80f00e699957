// A device graph with those who tell of its replays.
#pragma once

#include "engine/control/device_runtime.h"
#include "engine/control/graph_recorder.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace shardscope::control {

/// Step thread. Goes when it does not run.
class CapturedGraph {
public:
    /// Runs `work`, which queues what becomes the graph, on the current stream and those that wait
    /// for it; nothing of it is run on the device. `recorders` outlive the graph. Throws what
    /// `work` or the capture throws; then there is no capture any more.
    CapturedGraph(DeviceRuntime& runtime, std::span<GraphRecorder* const> recorders,
                  const std::string& name, const std::function<void()>& work);

    /// Queues all of it on the current stream, once the last launch was reported.
    void launch(std::int32_t step);
    /// Blocks until the last launch was reported.
    void awaitReported();

private:
    std::vector<std::unique_ptr<RecordedGraph>> m_recorded;
    std::unique_ptr<DeviceGraph> m_graph;  // last: goes before the events that it records
};

}  // namespace shardscope::control
