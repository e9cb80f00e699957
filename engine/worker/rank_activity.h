// Tells the recorder about once a second what a rank is at. Outbox thread: the step thread neither
// waits nor reads a clock for it, and one that hangs is reported as well.
#pragma once

#include "engine/run/protocol/messages.h"
#include "engine/worker/outbox.h"
#include "storage/model/events.h"

#include <atomic>
#include <bit>
#include <cstdint>
#include <optional>

namespace shardscope::worker {

// What the step thread is at, for other threads to look at: a plain store at each change, no clock.

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

/// What is in use at a moment.
struct MemoryNow {
    Bytes tensors;
    Bytes residentSet;
};

class ActivityTeller {
public:
    /// Both outlive it.
    ActivityTeller(const StepPlace& place, Outbox& outbox) : m_place(place), m_outbox(outbox) {}

    /// Posts what is due; `memory` is asked for only then. `queues`: RankActivity::queues.
    template <class Memory>
    void look(std::int64_t nowNs, bool queues, Memory memory) {
        see(nowNs);
        if (isDue(nowNs)) tell(nowNs, queues, memory());
    }

private:
    void see(std::int64_t nowNs);
    [[nodiscard]] bool isDue(std::int64_t nowNs) const;
    void tell(std::int64_t nowNs, bool queues, const MemoryNow& memory);

    const StepPlace& m_place;
    Outbox& m_outbox;
    StepPlace::Seen m_seen;
    std::int64_t m_sinceNs = 0;  ///< m_seen was first seen
    std::optional<std::int64_t> m_reportedNs;
};

}  // namespace shardscope::worker
