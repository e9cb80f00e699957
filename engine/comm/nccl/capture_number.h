// Which capture of a graph is running, for operations to know whether they are part of it.
#pragma once

#include <cstdint>

namespace shardscope::comm {

/// Step thread. Outlives the communicator while Works do.
class CaptureNumber {
public:
    std::uint64_t begin() { return m_current = ++m_last; }
    void end() { m_current = 0; }
    /// 0: none is.
    [[nodiscard]] std::uint64_t current() const { return m_current; }

private:
    std::uint64_t m_current = 0, m_last = 0;
};

}  // namespace shardscope::comm
