#include "engine/comm/segment.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace shardscope::comm {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHeaderBytes = kPage;

std::size_t slotsEnd(int worldSize) {
    const std::size_t bytes =
        kHeaderBytes + static_cast<std::size_t>(worldSize) * RankSlot::bytesFor(worldSize);
    return (bytes + kPage - 1) / kPage * kPage;
}

enum VerdictState : std::uint32_t { kUnsaid = 0, kBeingSaid = 1, kSaid = 2 };

}  // namespace

/// In the header, behind the word of the rank that gave up.
struct Segment::Verdict {
    static constexpr std::size_t kOffset = 64;
    static constexpr std::size_t kTextBytes = 1024;

    std::atomic<std::uint32_t> state;
    std::uint32_t bytes;
    std::array<char, kTextBytes> text;
};

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

Segment::Verdict& Segment::verdict() const {
    static_assert(Verdict::kOffset + sizeof(Verdict) <= kHeaderBytes);
    return *reinterpret_cast<Verdict*>(m_base + Verdict::kOffset);
}

void Segment::blame(std::string_view sentence) const {
    Verdict& said = verdict();
    std::uint32_t none = kUnsaid;
    if (!said.state.compare_exchange_strong(none, kBeingSaid)) return;
    said.bytes = static_cast<std::uint32_t>(sentence.copy(said.text.data(), said.text.size()));
    said.state.store(kSaid, std::memory_order_release);
}

std::string Segment::blamed() const {
    const Verdict& said = verdict();
    if (said.state.load(std::memory_order_acquire) != kSaid) return {};
    return {said.text.data(), said.bytes};
}

std::atomic<std::uint32_t>& Segment::aborted() const {
    return *reinterpret_cast<std::atomic<std::uint32_t>*>(m_base);
}

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
