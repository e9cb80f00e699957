#include "profiler/collectors/nvml/running_counter.h"

#include <utility>

namespace shardscope::collectors {
namespace {

constexpr double kWrap = 4294967296.0;
/// Clocks and readings are not exact.
constexpr double kMargin = 1.1;

}  // namespace

void RunningCounter::read(std::int64_t hostNs, double value, double fastest) {
    const double last = std::exchange(m_last, value);
    const std::int64_t lastNs = std::exchange(m_lastNs, hostNs);
    if (lastNs == 0 || hostNs <= lastNs) return;
    const double most = kMargin * fastest * static_cast<double>(hostNs - lastNs) * 1e-9;
    const bool narrow = last < kWrap && value < kWrap;  // else it has 64 bits
    double growth = value - last;
    if (growth < 0 && narrow) growth += kWrap;
    const bool maySkipARound = narrow && growth + kWrap <= most;
    m_known = m_known && growth >= 0 && growth <= most && !maySkipARound;
    m_grown += growth;
}

std::optional<double> RunningCounter::take(std::int64_t hostNs) {
    const std::int64_t takenNs = std::exchange(m_takenNs, hostNs);
    const double grown = std::exchange(m_grown, 0);
    const bool known = std::exchange(m_known, true);
    if (takenNs == 0 || hostNs <= takenNs || !known) return std::nullopt;
    return grown / (static_cast<double>(hostNs - takenNs) * 1e-9);
}

}  // namespace shardscope::collectors
