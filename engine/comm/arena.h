// A rank's part of a segment, from which buffers are taken and never given back. Step thread.
#pragma once

#include "engine/comm/segment.h"

#include <cstddef>
#include <memory>

namespace shardscope::comm {

/// Shared by a communicator and those split from it.
class Arena {
public:
    /// `place` in the segment of rank `rank` of the run, which sentences name.
    Arena(std::shared_ptr<Segment> segment, int place, int rank);

    /// The offset of `bytes` bytes, zero as long as nobody has written there. Throws
    /// CommunicationError when there is no room.
    std::size_t allocate(std::size_t bytes, std::size_t alignment);
    SymmetricBuffer allocateBuffer(std::size_t count, DataType dtype);
    [[nodiscard]] std::byte* at(std::size_t offset) const;

private:
    const std::shared_ptr<Segment> m_segment;
    const int m_place, m_rank;
    std::size_t m_allocated = 0;
};

}  // namespace shardscope::comm
