#include "engine/launch/clock_watch.h"

namespace shardscope::launch {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kPauseNs = 4 * kSecond;
/// While the drift is not known yet, and to see whether a clock was set.
constexpr std::int64_t kShortPauseNs = kSecond / 2;
constexpr int kShortPauses = 6;
/// For the way to the host and on to its ranks; they take it later where that was not enough.
constexpr std::int64_t kLeadNs = kSecond / 10;
/// So long a round goes on asking: over a slow link answers come behind events.
constexpr std::int64_t kLongestRoundNs = 2 * kSecond;
/// After so much silence it is begun anew: its answers count no more.
constexpr std::int64_t kSilenceNs = 15 * kSecond;
/// For the last round: the end of a run waits no longer.
constexpr std::int64_t kPatienceNs = kSecond;

/// Half of a time by the largest drift, 500 ppm.
constexpr std::int64_t kDriftShare = 4000;

}  // namespace

ClockWatch::ClockWatch(std::int32_t host, std::int64_t originNs, std::int64_t recordingNs,
                       const std::optional<ClockMeasurement>& start, std::int64_t nowNs)
    : m_host(host), m_recordingNs(recordingNs), m_theirs(originNs), m_roundSince(nowNs) {
    if (start) static_cast<void>(m_model.add(*start, nowNs));
}

std::int64_t ClockWatch::pauseNs() const {
    return m_rounds < kShortPauses || m_model.doubts() ? kShortPauseNs : kPauseNs;
}

std::optional<run::ClockAsked> ClockWatch::ask(std::int64_t nowNs) {
    const std::int64_t passed = nowNs - m_roundSince;
    if (!m_last && passed >= (m_round ? kSilenceNs : pauseNs())) begin(nowNs);
    return m_round ? m_round->ask(nowNs) : std::nullopt;
}

void ClockWatch::askLastTime(std::int64_t nowNs) {
    if (m_last) return;
    m_last = true;
    begin(nowNs);
}

void ClockWatch::begin(std::int64_t nowNs) {
    m_round.emplace(kQuestions);
    m_roundSince = nowNs;
}

bool ClockWatch::over(std::int64_t nowNs) const {
    return m_last && (!m_round || nowNs - m_roundSince > kPatienceNs);
}

std::optional<ClockUpdate> ClockWatch::take(const run::ClockAnswer& answer, std::int64_t nowNs) {
    if (!m_round) return std::nullopt;
    m_round->take(answer, nowNs);
    if (!m_round->done() && nowNs - m_roundSince < kLongestRoundNs) return std::nullopt;
    return conclude(nowNs);
}

std::optional<ClockUpdate> ClockWatch::conclude(std::int64_t nowNs) {
    const std::optional<ClockMeasurement> bounds = m_round->bounds();
    m_round.reset();
    m_roundSince = nowNs;
    if (!bounds) return std::nullopt;
    ++m_rounds;
    // What is said is said of the moment from which it holds: until then what was in force goes on
    // going wrong.
    const auto estimate = m_model.add(*bounds, m_last ? nowNs : nowNs + kLeadNs);
    if (!estimate) return std::nullopt;
    return updateOf(*estimate, nowNs);
}

ClockUpdate ClockWatch::updateOf(const ClockEstimate& estimate, std::int64_t nowNs) {
    ClockUpdate update;
    const std::int64_t hostNs = estimate.timeNs + estimate.aheadNs;
    ClockFacts& facts = update.facts;
    facts.host = m_host;
    facts.time = {estimate.timeNs - m_recordingNs};
    facts.offsetNs = facts.time.ns - hostNs;
    facts.driftPpb = estimate.driftPpb;
    facts.errorNs = estimate.errorNs;
    facts.residualNs = facts.time.ns - m_theirs.at(hostNs).ns;
    facts.stepped = estimate.stepNs.has_value();
    update.correction = {hostNs, m_recordingNs + estimate.aheadNs, estimate.driftPpb};
    m_theirs.correct({hostNs, m_recordingNs + estimate.aheadNs, estimate.driftPpb},
                     nowNs + estimate.aheadAt(nowNs));
    return update;
}

std::optional<run::ClockAsked> ClockExchange::ask(std::int64_t nowNs) {
    if (m_asked || m_left == 0) return std::nullopt;
    --m_left;
    m_asked = nowNs;
    return run::ClockAsked{nowNs};
}

void ClockExchange::take(const run::ClockAnswer& answer, std::int64_t nowNs) {
    if (m_asked != answer.askedNs) return;
    m_asked.reset();
    const std::int64_t there = answer.sentNs - answer.receivedNs;
    const std::int64_t way = nowNs - answer.askedNs - there;
    // An answer from before the question says nothing.
    if (there < 0 || way < 0) return;
    // When on the way it was there is not known: what the clocks drift apart meanwhile.
    const std::int64_t middleNs = answer.askedNs + (nowNs - answer.askedNs) / 2;
    const std::int64_t slackNs = (nowNs - answer.askedNs) / kDriftShare + 1;
    tighten({{middleNs, answer.sentNs - nowNs - slackNs},
             {middleNs, answer.receivedNs - answer.askedNs + slackNs}});
    const std::int64_t errorNs = (way + 1) / 2;
    if (errorNs >= m_errorNs) return;
    m_errorNs = errorNs;
    m_aheadNs = ((answer.receivedNs - answer.askedNs) + (answer.sentNs - nowNs)) / 2;
}

void ClockExchange::tighten(const ClockMeasurement& answer) {
    if (!m_bounds) m_bounds = answer;
    if (answer.least.aheadNs > m_bounds->least.aheadNs) m_bounds->least = answer.least;
    if (answer.most.aheadNs < m_bounds->most.aheadNs) m_bounds->most = answer.most;
}

}  // namespace shardscope::launch
