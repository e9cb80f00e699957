#include "engine/comm/arena.h"

#include <fmt/format.h>

#include <utility>

namespace shardscope::comm {

Arena::Arena(std::shared_ptr<Segment> segment, int place, int rank)
    : m_segment(std::move(segment)), m_place(place), m_rank(rank) {}

std::size_t Arena::allocate(std::size_t bytes, std::size_t alignment) {
    const std::size_t offset = (m_allocated + alignment - 1) / alignment * alignment;
    if (offset + bytes > m_segment->arenaBytes()) {
        throw CommunicationError(fmt::format(
            "the shared-memory arena of rank {} ({} bytes) has no room for another {} bytes",
            m_rank, m_segment->arenaBytes(), bytes));
    }
    m_allocated = offset + bytes;
    return offset;
}

SymmetricBuffer Arena::allocateBuffer(std::size_t count, DataType dtype) {
    constexpr std::size_t kLine = 64;
    const std::size_t bytes = (count * elementBytes(dtype) + kLine - 1) / kLine * kLine;
    const std::size_t offset = allocate(bytes, kLine);
    return {offset, count, dtype, at(offset)};
}

std::byte* Arena::at(std::size_t offset) const {
    return m_segment->arena(m_place) + offset;
}

}  // namespace shardscope::comm
