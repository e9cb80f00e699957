// Makes our own operators visible to RecordFunction observers under a plain name, with the
// autograd sequence number that links a forward operator to its backward node.
#pragma once

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>

#include <array>
#include <cstdint>

namespace shardscope::kernels {

class OperatorScope {
public:
    /// `name` is a static string. Forward operators that create an autograd node right after
    /// pass linked = true: the node gets the number peeked here.
    explicit OperatorScope(const char* name, bool linked = false)
        : m_guard(at::RecordScope::FUNCTION) {
        if (m_guard.isActive()) {
            m_guard.before(name, linked ? static_cast<std::int64_t>(at::sequence_number::peek())
                                        : std::int64_t{-1});
        }
    }

private:
    at::RecordFunction m_guard;
};

}  // namespace shardscope::kernels
