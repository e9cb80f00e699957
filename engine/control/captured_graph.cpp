#include "engine/control/captured_graph.h"

namespace shardscope::control {
namespace {

/// Ends what has begun unless it was ended.
class Capture {
public:
    Capture(DeviceRuntime& runtime, std::span<GraphRecorder* const> recorders,
            const std::string& name)
        : m_runtime(runtime), m_recorders(recorders) {
        m_runtime.beginCapture();
        for (GraphRecorder* recorder : m_recorders) recorder->beginCapture(name);
    }
    ~Capture() {
        if (m_ended) return;
        for (GraphRecorder* recorder : m_recorders) recorder->abandonCapture();
        m_runtime.abandonCapture();
    }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    std::unique_ptr<DeviceGraph> end(std::vector<std::unique_ptr<RecordedGraph>>& recorded) {
        for (GraphRecorder* recorder : m_recorders) recorded.push_back(recorder->endCapture());
        std::unique_ptr<DeviceGraph> graph = m_runtime.endCapture();
        m_ended = true;
        return graph;
    }

private:
    DeviceRuntime& m_runtime;
    const std::span<GraphRecorder* const> m_recorders;
    bool m_ended = false;
};

}  // namespace

CapturedGraph::CapturedGraph(DeviceRuntime& runtime, std::span<GraphRecorder* const> recorders,
                             const std::string& name, const std::function<void()>& work) {
    Capture capture(runtime, recorders, name);
    work();
    m_graph = capture.end(m_recorded);
}

void CapturedGraph::awaitReported() {
    for (const auto& recorded : m_recorded) recorded->awaitReported();
}

void CapturedGraph::launch(std::int32_t step) {
    awaitReported();
    for (const auto& recorded : m_recorded) recorded->beforeLaunch();
    m_graph->launch();
    for (const auto& recorded : m_recorded) recorded->launched(step);
}

}  // namespace shardscope::control
