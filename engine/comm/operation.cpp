#include "engine/comm/operation.h"

#include "engine/comm/message_numbers.h"

#include <fmt/format.h>

#include <algorithm>

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

void CallRecord::note(std::uint32_t group, std::uint64_t sequence,
                      const OperationDescriptor& wanted) {
    Entry& entry = m_entries[m_count++ % kKept];
    entry.sequence.store(0);
    entry.group.store(group);
    entry.kind.store(static_cast<std::uint32_t>(wanted.operation) << 8 |
                     static_cast<std::uint32_t>(wanted.dtype));
    entry.bytes.store(wanted.bytes);
    entry.sequence.store(sequence);
}

std::optional<OperationDescriptor> CallRecord::find(std::uint32_t group,
                                                    std::uint64_t sequence) const {
    for (const Entry& entry : m_entries) {
        if (entry.sequence.load() != sequence || entry.group.load() != group) continue;
        OperationDescriptor wanted;
        const std::uint32_t kind = entry.kind.load();
        wanted.operation = static_cast<CollectiveOp>(kind >> 8);
        wanted.dtype = static_cast<DataType>(kind & 0xffU);
        wanted.bytes = entry.bytes.load();
        if (entry.sequence.load() == sequence) return wanted;  // not overwritten meanwhile
    }
    return std::nullopt;
}

bool CallRecord::hasCome(std::uint32_t group, std::uint64_t sequence) const {
    return std::any_of(m_entries.begin(), m_entries.end(), [&](const Entry& entry) {
        const std::uint64_t found = entry.sequence.load();
        return found >= sequence && !MessageNumbers::isMessage(found) &&
               entry.group.load() == group && entry.sequence.load() == found;
    });
}

}  // namespace shardscope::comm
