// Memory that all ranks of a host see: a control slot and an arena for each rank.
//
// Zero-filled memory is a valid initial state, so ranks need no handshake beyond agreeing on
// the size. The mapping is shared between processes (inherited memfd) or, for ranks that are
// threads of one process, anonymous. Sparse: pages cost memory only once touched.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/comm/operation.h"
#include "storage/model/result.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace shardscope::comm {

/// One rank's half of sending to and receiving from one other. Numbers count messages of this
/// pair and direction; peers are at most one apart.
struct PairCell {
    struct Side {
        OperationDescriptor wanted;
        std::int64_t arrivalNs = 0;
    };
    alignas(64) std::atomic<std::uint32_t> offered{0};  ///< last message it may be asked for
    std::array<Side, 2> offers{};
    alignas(64) std::atomic<std::uint32_t> awaited{0};  ///< last message it waits for
    std::array<Side, 2> awaits{};
    alignas(64) std::atomic<std::uint32_t> taken{0};  ///< last message it has copied
};

/// One rank's half of the arrival protocol, followed by a PairCell for each rank. Sequence words
/// hold the low 32 bits and are futexes.
struct alignas(128) RankSlot {
    static constexpr std::size_t kRing = 64;  ///< ranks are at most one collective apart

    std::atomic<std::uint32_t> arrived{0};     ///< last collective this rank's input is ready for
    std::atomic<std::uint32_t> left{0};        ///< 1: will never arrive again
    std::atomic<std::uint64_t> startTicks{0};  ///< ProcessIdentity; written before the next
    std::atomic<std::int64_t> pid{0};
    alignas(64) std::atomic<std::uint32_t> done{0};  ///< last one it finished reading peers for
    alignas(64) std::array<std::int64_t, kRing> arrivalNs{};
    std::array<OperationDescriptor, kRing> operations{};
    std::array<std::array<double, kSmallValues>, 2> scratch{};

    [[nodiscard]] PairCell& with(int rank) { return reinterpret_cast<PairCell*>(this + 1)[rank]; }
    [[nodiscard]] static constexpr std::size_t bytesFor(int ranks) {
        const std::size_t all =
            sizeof(RankSlot) + static_cast<std::size_t>(ranks) * sizeof(PairCell);
        return (all + alignof(RankSlot) - 1) / alignof(RankSlot) * alignof(RankSlot);
    }
};

class Segment {
public:
    /// Maps an inherited memfd of `bytes` bytes. The descriptor may be closed afterwards.
    static Result<std::shared_ptr<Segment>> map(int fd, std::size_t bytes, int worldSize);
    /// For ranks that are threads of this process.
    static Result<std::shared_ptr<Segment>> anonymous(std::size_t bytes, int worldSize);
    ~Segment();
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;

    [[nodiscard]] int worldSize() const { return m_worldSize; }
    [[nodiscard]] RankSlot& slot(int rank) const;
    [[nodiscard]] std::byte* arena(int rank) const;
    [[nodiscard]] std::size_t arenaBytes() const { return m_arenaBytes; }
    /// Set by a rank that gives up, so that its peers stop waiting.
    [[nodiscard]] std::atomic<std::uint32_t>& aborted() const;

    /// Why ranks give up, as the first one to say so puts it; what comes later is not kept.
    void blame(std::string_view sentence) const;
    [[nodiscard]] std::string blamed() const;  ///< empty: no rank has said anything

private:
    struct Verdict;
    Segment(void* base, std::size_t bytes, int worldSize, std::size_t arenaBytes);
    [[nodiscard]] Verdict& verdict() const;
    static Result<std::shared_ptr<Segment>> adopt(void* base, std::size_t bytes, int worldSize);

    std::byte* m_base;
    std::size_t m_bytes;
    int m_worldSize;
    std::size_t m_arenaBytes;
};

// A rank's part of a segment, from which buffers are taken and never given back. Step thread.

/// Shared by a communicator and those split from it.
class Arena {
public:
    /// `place` in the segment of rank `rank` of the run, which sentences name.
    Arena(std::shared_ptr<Segment> segment, int place, int rank);

    /// The offset of `bytes` bytes, zero as long as no rank has written there. Throws
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
