// What a rank asks of one operation. Peers compare it, so that ranks whose programs diverge are
// refused in words instead of left waiting, and sentences about operations are made of it.
#pragma once

#include "storage/model/events.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace shardscope::comm {

/// Making a communicator of some ranks: no operation of the recording.
inline constexpr CollectiveOp kSplitOperation{0};

struct OperationDescriptor {
    static constexpr std::int32_t kNone = -1;

    CollectiveOp operation = CollectiveOp::kBarrier;
    DataType dtype = DataType::kFloat32;
    /// Broadcast: the root. Small all-reduce: its Reduction. Send and receive: the partner.
    /// Split: of the list of members.
    std::int32_t detail = kNone;
    std::uint64_t bytes = 0;
    std::uint64_t offset = 0;  ///< of the input in this rank's arena; may differ among ranks

    /// Whether ranks that ask for these can carry out one operation together.
    [[nodiscard]] bool matches(const OperationDescriptor& other) const {
        return operation == other.operation && dtype == other.dtype && detail == other.detail &&
               bytes == other.bytes;
    }
};

/// One of a rank's operations, for sentences.
struct Call {
    OperationDescriptor wanted;
    std::uint64_t sequence = 0;  ///< as in its CollectiveReport
    LayerIndex layer = kNoLayer;
    std::uint32_t group = 0;
};

/// "all-gather of 128 bytes of bf16"
[[nodiscard]] std::string describe(const OperationDescriptor& wanted);
/// "all-gather 17 of layer 3 in group 2"
[[nodiscard]] std::string describe(const Call& call);
/// "collective 3: rank 0 asks for ..., rank 1 for ...": both and where they part.
[[nodiscard]] std::string mismatch(const Call& mine, int myRank, const OperationDescriptor& theirs,
                                   int theirRank);

// What a rank has asked for last, in memory that its peers on the host can read: NCCL itself does
// not notice that ranks ask for different things, it hangs or mixes up their data.

/// Zero memory is an empty record. One thread notes; any may look.
class CallRecord {
public:
    void note(std::uint32_t group, std::uint64_t sequence, const OperationDescriptor& wanted);
    /// Nothing when it was not asked for yet, or so long ago that it is no longer known.
    [[nodiscard]] std::optional<OperationDescriptor> find(std::uint32_t group,
                                                          std::uint64_t sequence) const;
    /// Whether it or a later one of the group was asked for; of collectives, not of messages.
    [[nodiscard]] bool hasCome(std::uint32_t group, std::uint64_t sequence) const;

private:
    static constexpr std::size_t kKept =
        512;  ///< more than a stream, or two graphs, hold at a time

    struct Entry {
        std::atomic<std::uint64_t> sequence;  ///< 0 while it changes
        std::atomic<std::uint32_t> group;
        std::atomic<std::uint32_t> kind;  ///< operation and type
        std::atomic<std::uint64_t> bytes;
    };
    std::array<Entry, kKept> m_entries;
    std::uint64_t m_count;
};

}  // namespace shardscope::comm
