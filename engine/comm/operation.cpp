#include "engine/comm/operation.h"

#include "engine/comm/message_numbers.h"

#include <fmt/format.h>

namespace shardscope::comm {

std::string describe(const OperationDescriptor& wanted) {
    if (wanted.operation == kSplitOperation) {
        return fmt::format("a split into group {} (members {:08x})", wanted.bytes,
                           static_cast<std::uint32_t>(wanted.detail));
    }
    std::string text = fmt::format("{} of {} bytes of {}", toWord(wanted.operation), wanted.bytes,
                                   toWord(wanted.dtype));
    if (wanted.detail == OperationDescriptor::kNone) return text;
    switch (wanted.operation) {
        case CollectiveOp::kBroadcast:
        case CollectiveOp::kReceive:
            return text + fmt::format(" from rank {}", wanted.detail);
        case CollectiveOp::kSend:
            return text + fmt::format(" to rank {}", wanted.detail);
        case CollectiveOp::kAllReduce:
            return text + (wanted.detail == 0 ? ", the sum" : ", the largest");
        default:
            return text;
    }
}

std::string describe(const Call& call) {
    if (call.wanted.operation == kSplitOperation) return describe(call.wanted);
    std::string text =
        fmt::format("{} {}", toWord(call.wanted.operation), MessageNumbers::count(call.sequence));
    if (call.layer.value >= 0) text += fmt::format(" of layer {}", call.layer.value);
    if (call.layer == kRootLayer) text += " of the embedding";
    if (call.group != 0) text += fmt::format(" in group {}", call.group);
    return text;
}

std::string mismatch(const Call& mine, int myRank, const OperationDescriptor& theirs,
                     int theirRank) {
    if (mine.wanted.operation == kSplitOperation) {
        return fmt::format(
            "rank {} asks for {}, rank {} for {}; ranks issued different collectives", myRank,
            describe(mine.wanted), theirRank, describe(theirs));
    }
    return fmt::format(
        "collective {}{}: rank {} asks for {}, rank {} for {}; ranks issued different collectives",
        MessageNumbers::count(mine.sequence),
        mine.group == 0 ? std::string() : fmt::format(" in group {}", mine.group), myRank,
        describe(mine.wanted), theirRank, describe(theirs));
}

}  // namespace shardscope::comm
