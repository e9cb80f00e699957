// What kernels of the backward pass belong to, while operators are not recorded.
//
// Autograd runs a GPU's backward nodes on a thread of its own, on which no phase of the engine has
// begun: the context lent by the step thread, which waits meanwhile, is passed to the device tracer
// around each node. No names, no inputs; some tens of nanoseconds a node.
#pragma once

#include <cstdint>

namespace shardscope::collectors {

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
