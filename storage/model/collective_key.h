// Which collective a drawn span is: SpanEvent::correlation on lanes of role kCommunication.
#pragma once

#include "storage/model/events.h"

#include <compare>

namespace shardscope {

struct CollectiveKey {
    static constexpr int kGroupShift = 48;
    std::uint32_t group = 0;
    std::uint64_t sequence = 0;

    friend auto operator<=>(const CollectiveKey&, const CollectiveKey&) = default;

    /// The sequence, above it the group; the world's is its sequence. Messages between two ranks
    /// have sequences from 2^60 on and are the world's.
    [[nodiscard]] std::uint64_t correlation() const {
        return std::uint64_t{group} << kGroupShift | sequence;
    }
    [[nodiscard]] static CollectiveKey of(const CollectiveEvent& event) {
        return {event.group, event.sequence};
    }
    [[nodiscard]] static CollectiveKey of(std::uint64_t correlation) {
        if (correlation >> 60 != 0) return {0, correlation};
        return {static_cast<std::uint32_t>(correlation >> kGroupShift),
                correlation & ((std::uint64_t{1} << kGroupShift) - 1)};
    }
};

}  // namespace shardscope
