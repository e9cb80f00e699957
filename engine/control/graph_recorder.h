// Takes note of what is captured into a device graph, so that every replay is reported as the
// same work queued piece by piece would be.
//
// While a capture runs, calls of the recorder describe work of the graph. Times lie in events that
// each replay records anew (DeviceRuntime::recordInGraph), so a replay has to be reported before
// the graph is launched again. Step thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace shardscope::control {

/// What one recorder knows of a graph. Goes after the graph, before the recorder.
class RecordedGraph {
public:
    virtual ~RecordedGraph() = default;
    /// Blocks until the last launch was reported. Rethrows what went wrong meanwhile.
    virtual void awaitReported() = 0;
    /// Right before a launch: the current stream waits for what the recorder queued elsewhere.
    virtual void beforeLaunch() = 0;
    /// Right after it. `step`: whose work the replay is.
    virtual void launched(std::int32_t step) = 0;
};

class GraphRecorder {
public:
    virtual ~GraphRecorder() = default;
    /// Right after the runtime's. `name` completes "the graph of ...".
    virtual void beginCapture(std::string name) = 0;
    /// Right before the runtime's: streams of the recorder are joined.
    virtual std::unique_ptr<RecordedGraph> endCapture() = 0;
    /// Instead of it, when the capture has failed.
    virtual void abandonCapture() noexcept = 0;
};

}  // namespace shardscope::control
