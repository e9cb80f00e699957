// Tells the recorder about once a second what a rank is at. Outbox thread: the step thread neither
// waits nor reads a clock for it, and one that hangs is told of as well.
#pragma once

#include "engine/run/protocol/messages.h"
#include "engine/worker/outbox.h"
#include "engine/worker/step_place.h"

#include <cstdint>
#include <optional>

namespace shardscope::worker {

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
    std::optional<std::int64_t> m_toldNs;
};

}  // namespace shardscope::worker
