#include "engine/launch/clock_exchange.h"

namespace shardscope::launch {
namespace {

/// Half of a time by the largest drift, 500 ppm.
constexpr std::int64_t kDriftShare = 4000;

}  // namespace

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
    // When on the way it was there is not known: what the clocks drift apart meanwhile.
    const std::int64_t middleNs = told.askedNs + (nowNs - told.askedNs) / 2;
    const std::int64_t slackNs = (nowNs - told.askedNs) / kDriftShare + 1;
    tighten({{middleNs, told.sentNs - nowNs - slackNs},
             {middleNs, told.receivedNs - told.askedNs + slackNs}});
    const std::int64_t errorNs = (way + 1) / 2;
    if (errorNs >= m_errorNs) return;
    m_errorNs = errorNs;
    m_aheadNs = ((told.receivedNs - told.askedNs) + (told.sentNs - nowNs)) / 2;
}

void ClockExchange::tighten(const ClockMeasurement& answer) {
    if (!m_bounds) m_bounds = answer;
    if (answer.least.aheadNs > m_bounds->least.aheadNs) m_bounds->least = answer.least;
    if (answer.most.aheadNs < m_bounds->most.aheadNs) m_bounds->most = answer.most;
}

}  // namespace shardscope::launch
