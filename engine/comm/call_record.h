// What a rank has asked for last, in memory that its peers on the host can read: NCCL itself does
// not notice that ranks ask for different things, it hangs or mixes up their data.
#pragma once

#include "engine/comm/operation.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

namespace shardscope::comm {

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
    static constexpr std::size_t kKept = 512;  ///< more than a stream, or two graphs, hold at a time

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
