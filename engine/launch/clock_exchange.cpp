#include "engine/launch/clock_exchange.h"

namespace shardscope::launch {

std::optional<run::ClockAsked> ClockExchange::ask(std::int64_t nowNs) {
    if (m_asked || m_left == 0) return std::nullopt;
    --m_left;
    m_asked = nowNs;
    return run::ClockAsked{nowNs};
}

void ClockExchange::take(const run::ClockTold& told, std::int64_t nowNs) {
    if (m_asked != told.askedNs) return;
    m_asked.reset();
    const std::int64_t there = told.sentNs - told.receivedNs;
    const std::int64_t way = nowNs - told.askedNs - there;
    // Whoever answers before being asked tells nothing.
    if (there < 0 || way < 0) return;
    const std::int64_t errorNs = (way + 1) / 2;
    if (errorNs >= m_errorNs) return;
    m_errorNs = errorNs;
    m_aheadNs = ((told.receivedNs - told.askedNs) + (told.sentNs - nowNs)) / 2;
}

}  // namespace shardscope::launch
