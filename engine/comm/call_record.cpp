#include "engine/comm/call_record.h"

#include "engine/comm/message_numbers.h"

#include <algorithm>

namespace shardscope::comm {

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
