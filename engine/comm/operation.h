// What a rank asks of one operation. Peers compare it, so that ranks whose programs diverge are
// told instead of left waiting, and sentences about operations are made of it.
#pragma once

#include "storage/model/events.h"

#include <cstdint>
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

}  // namespace shardscope::comm
