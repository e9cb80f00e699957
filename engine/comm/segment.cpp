#include "engine/comm/segment.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace shardscope::comm {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHeaderBytes = kPage;

std::size_t slotsEnd(int worldSize) {
    const std::size_t bytes =
        kHeaderBytes + static_cast<std::size_t>(worldSize) * RankSlot::bytesFor(worldSize);
    return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

Segment::Segment(void* base, std::size_t bytes, int worldSize, std::size_t arenaBytes)
    : m_base(static_cast<std::byte*>(base)),
      m_bytes(bytes),
      m_worldSize(worldSize),
      m_arenaBytes(arenaBytes) {}

Segment::~Segment() {
    ::munmap(m_base, m_bytes);
}

Result<std::shared_ptr<Segment>> Segment::adopt(void* base, std::size_t bytes, int worldSize) {
    if (base == MAP_FAILED) {
        return failure(ErrorCode::kLaunch,
                       fmt::format("cannot map {} bytes of shared memory for {} ranks: {}; lower "
                                   "the model size or raise the memory limit",
                                   bytes, worldSize, std::strerror(errno)));
    }
    const std::size_t arenas = slotsEnd(worldSize);
    const std::size_t each =
        bytes <= arenas ? 0
                        : (bytes - arenas) / static_cast<std::size_t>(worldSize) / kPage * kPage;
    return std::shared_ptr<Segment>(new Segment(base, bytes, worldSize, each));
}

Result<std::shared_ptr<Segment>> Segment::map(int fd, std::size_t bytes, int worldSize) {
    return adopt(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0),
                 bytes, worldSize);
}

Result<std::shared_ptr<Segment>> Segment::anonymous(std::size_t bytes, int worldSize) {
    return adopt(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
                 bytes, worldSize);
}

RankSlot& Segment::slot(int rank) const {
    const std::size_t each = RankSlot::bytesFor(m_worldSize);
    return *reinterpret_cast<RankSlot*>(m_base + kHeaderBytes +
                                        static_cast<std::size_t>(rank) * each);
}

std::byte* Segment::arena(int rank) const {
    return m_base + slotsEnd(m_worldSize) + static_cast<std::size_t>(rank) * m_arenaBytes;
}

std::atomic<std::uint32_t>& Segment::aborted() const {
    return *reinterpret_cast<std::atomic<std::uint32_t>*>(m_base);
}

}  // namespace shardscope::comm
