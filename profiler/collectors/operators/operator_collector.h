// Operators, from LibTorch's RecordFunction: every aten operator, our own (OperatorScope) and
// backward nodes, with input shapes and the sequence number that links forward to backward.
//
// Callbacks run on the calling thread and only push to its queue. At most one collector exists
// at a time: RecordFunction takes captureless callbacks.
#pragma once

#include "profiler/capture/capture_session.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace shardscope::collectors {

class OperatorCollector {
public:
    /// Starts observing; `session` outlives the collector.
    explicit OperatorCollector(capture::CaptureSession& session);
    ~OperatorCollector();
    OperatorCollector(const OperatorCollector&) = delete;
    OperatorCollector& operator=(const OperatorCollector&) = delete;

    /// Pausing removes the callbacks' cost as well. Call between operators.
    void setEnabled(bool enabled);

private:
    std::uint64_t m_handle;
    bool m_enabled = true;
};

/// "torch::autograd::CppNode<...::Linear>" -> "linear_backward"; other names unchanged.
[[nodiscard]] std::string plainName(std::string_view recorded);

// What kernels of the backward pass belong to, while operators are not recorded.
//
// Autograd runs a GPU's backward nodes on a thread of its own, on which no phase of the engine has
// begun: the context lent by the step thread, which waits meanwhile, is passed to the device tracer
// around each node. No names, no inputs; some tens of nanoseconds a node.

class BackwardContexts {
public:
    /// Begins; as OperatorCollector, which does the same and more: one of the two is enabled.
    BackwardContexts();
    ~BackwardContexts();
    BackwardContexts(const BackwardContexts&) = delete;
    BackwardContexts& operator=(const BackwardContexts&) = delete;

    /// Call between operators.
    void setEnabled(bool enabled);

private:
    std::uint64_t m_handle;
    bool m_enabled = true;
};

}  // namespace shardscope::collectors
