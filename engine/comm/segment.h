// Memory that all ranks of a host see: a control slot and an arena for each rank.
//
// Zero-filled memory is a valid initial state, so ranks need no handshake beyond agreeing on
// the size. The mapping is shared between processes (inherited memfd) or, for ranks that are
// threads of one process, anonymous. Sparse: pages cost memory only once touched.
#pragma once

#include "storage/model/result.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace shardscope::comm {

/// What a rank asks of one collective; peers compare it to catch diverging programs.
struct OperationDescriptor {
    std::uint8_t operation = 0;
    std::uint64_t bytes = 0;
    friend bool operator==(const OperationDescriptor&, const OperationDescriptor&) = default;
};

/// One rank's half of the arrival protocol. Sequence words hold the low 32 bits and are futexes.
struct alignas(128) RankSlot {
    static constexpr std::size_t kRing = 64;     ///< ranks are at most one collective apart
    static constexpr std::size_t kScratch = 32;  ///< values of a small all-reduce

    std::atomic<std::uint32_t> arrived{0};  ///< last collective this rank's input is ready for
    alignas(64) std::atomic<std::uint32_t> done{0};  ///< last one it finished reading peers for
    alignas(64) std::array<std::int64_t, kRing> arrivalNs{};
    std::array<OperationDescriptor, kRing> operations{};
    std::array<std::array<double, kScratch>, 2> scratch{};
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

private:
    Segment(void* base, std::size_t bytes, int worldSize, std::size_t arenaBytes);
    static Result<std::shared_ptr<Segment>> adopt(void* base, std::size_t bytes, int worldSize);

    std::byte* m_base;
    std::size_t m_bytes;
    int m_worldSize;
    std::size_t m_arenaBytes;
};

}  // namespace shardscope::comm
