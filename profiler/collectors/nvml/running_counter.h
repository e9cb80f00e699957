// A device's counter that only runs up, and wraps at 32 bits when it has no more: how fast it runs.
#pragma once

#include <cstdint>
#include <optional>

namespace shardscope::collectors {

class RunningCounter {
public:
    /// A reading at host time `hostNs`, later than the last. `fastest`: its most in a second, which
    /// tells whether it may have wrapped since, once or more often, or was reset.
    void read(std::int64_t hostNs, double value, double fastest);

    /// Growth a second since the last call, up to the last reading. Nothing at first, and when it
    /// cannot be known: readings too far apart, or a reset.
    [[nodiscard]] std::optional<double> take(std::int64_t hostNs);

private:
    double m_last = 0;
    std::int64_t m_lastNs = 0;   ///< 0: none yet
    std::int64_t m_takenNs = 0;  ///< 0: never
    double m_grown = 0;          ///< since then
    bool m_known = true;         ///< m_grown is
};

}  // namespace shardscope::collectors
