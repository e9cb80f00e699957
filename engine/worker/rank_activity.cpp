#include "engine/worker/rank_activity.h"

namespace shardscope::worker {
namespace {

/// At whole seconds of the host's clock: its ranks tell of about the same moment.
constexpr std::int64_t kEveryNs = 1'000'000'000;

}  // namespace

void ActivityTeller::see(std::int64_t nowNs) {
    const StepPlace::Seen seen = m_place.seen();
    if (seen == m_seen && m_sinceNs != 0) return;
    m_seen = seen;
    m_sinceNs = nowNs;
}

bool ActivityTeller::isDue(std::int64_t nowNs) const {
    return !m_reportedNs || nowNs / kEveryNs != *m_reportedNs / kEveryNs;
}

void ActivityTeller::tell(std::int64_t nowNs, bool queues, const MemoryNow& memory) {
    m_reportedNs = nowNs;
    m_outbox.post(run::RankActivity{m_seen.step, m_seen.phase, m_seen.layer,
                                    Duration{nowNs - m_sinceNs}, queues, memory.tensors,
                                    memory.residentSet});
}

}  // namespace shardscope::worker
