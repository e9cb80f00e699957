// When an operation of ranks on several hosts was busy between hosts, and when inside this one.
// Communication thread.
#pragma once

#include "engine/control/observer.h"
#include "storage/model/host_clock.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace shardscope::comm {

class LevelClock {
public:
    void begin(std::int64_t ns) { m_levels = {{control::Level::kInsideHost, ns, ns}}; }

    /// Everything from now on, up to the next call.
    void enter(control::Level level) {
        if (m_levels.empty() || m_levels.back().level == level) return;
        const std::int64_t ns = hostNow();
        m_levels.back().endNs = ns;
        m_levels.push_back({level, ns, ns});
    }

    /// Since begin(); the last one is still open.
    [[nodiscard]] std::vector<control::LevelReport> take() { return std::exchange(m_levels, {}); }

private:
    std::vector<control::LevelReport> m_levels;
};

/// Waiting for another host, while it lives.
class BetweenHosts {
public:
    explicit BetweenHosts(LevelClock& clock) : m_clock(clock) {
        m_clock.enter(control::Level::kBetweenHosts);
    }
    ~BetweenHosts() { m_clock.enter(control::Level::kInsideHost); }
    BetweenHosts(const BetweenHosts&) = delete;
    BetweenHosts& operator=(const BetweenHosts&) = delete;

private:
    LevelClock& m_clock;
};

}  // namespace shardscope::comm
