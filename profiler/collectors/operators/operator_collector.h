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

}  // namespace shardscope::collectors
