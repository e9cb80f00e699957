// What the step thread is at, for other threads to look at: a plain store at each change, no clock.
#pragma once

#include "storage/model/events.h"

#include <atomic>
#include <bit>
#include <cstdint>

namespace shardscope::worker {

class StepPlace {
public:
    struct Seen {
        StepIndex step = kNoStep;  ///< in hand, or the last
        LayerIndex layer = kNoLayer;
        Phase phase = Phase::kNone;
        std::uint8_t turn = 0;  ///< differs from one change to the next
        friend bool operator==(const Seen&, const Seen&) = default;
    };

    // Step thread.

    void begin(StepIndex step) {
        m_step = step;
        enter(Phase::kNone, kNoLayer);
    }
    void enter(Phase phase, LayerIndex layer) {
        // As one word that is made in a register: a store of its parts would be waited for.
        m_seen.store(std::bit_cast<std::uint64_t>(Seen{m_step, layer, phase, ++m_turn}),
                     std::memory_order_relaxed);
    }
    void leave() { enter(Phase::kNone, kNoLayer); }

    /// Any thread.
    [[nodiscard]] Seen seen() const {
        return std::bit_cast<Seen>(m_seen.load(std::memory_order_relaxed));
    }

private:
    StepIndex m_step = kNoStep;
    std::uint8_t m_turn = 0;
    std::atomic<std::uint64_t> m_seen{std::bit_cast<std::uint64_t>(Seen{})};
};

}  // namespace shardscope::worker
