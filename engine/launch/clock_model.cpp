#include "engine/launch/clock_model.h"

#include "storage/model/host_facts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace shardscope::launch {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Times are whole ns, and sums of them in doubles.
constexpr double kRounding = 2;

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

std::int64_t ClockMeasurement::timeNs() const {
    return std::max(least.timeNs, most.timeNs);
}

std::int64_t ClockEstimate::aheadAt(std::int64_t time) const {
    return aheadNs +
           std::llround(static_cast<double>(time - timeNs) * static_cast<double>(driftPpb) * 1e-9);
}

/// Corners of the set of possible lines lie at drifts at which two bounds meet.
std::optional<ClockModel::Lines> ClockModel::linesOf(const Window& window, std::int64_t timeNs,
                                                     std::int64_t baseNs) {
    std::vector<Point> least, most;
    for (const ClockMeasurement& each : window) {
        const auto put = [&](std::vector<Point>& to, const ClockBound& bound, double sign) {
            const auto time = static_cast<double>(bound.timeNs - timeNs);
            const double slack = kRounding + kWander * std::abs(time);
            to.push_back({time, static_cast<double>(bound.aheadNs - baseNs) + sign * slack});
        };
        put(least, each.least, -1);
        put(most, each.most, 1);
    }
    std::vector<Point> all = least;
    all.insert(all.end(), most.begin(), most.end());
    std::vector<double> drifts{-kMostDrift, kMostDrift};
    for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (all[i].time != all[j].time)
                drifts.push_back((all[i].ahead - all[j].ahead) / (all[i].time - all[j].time));
    Lines lines{{kInfinity, -kInfinity}, {kInfinity, -kInfinity}};
    for (const double drift : drifts) {
        if (std::abs(drift) > kMostDrift) continue;
        Range here{-kInfinity, kInfinity};
        for (const Point& each : least)
            here.least = std::max(here.least, each.ahead - drift * each.time);
        for (const Point& each : most)
            here.most = std::min(here.most, each.ahead - drift * each.time);
        if (here.least > here.most + 1e-3) continue;
        lines.ahead.least = std::min(lines.ahead.least, here.least);
        lines.ahead.most = std::max(lines.ahead.most, here.most);
        lines.drift.least = std::min(lines.drift.least, drift);
        lines.drift.most = std::max(lines.drift.most, drift);
    }
    if (lines.drift.least > lines.drift.most) return std::nullopt;
    return lines;
}

bool ClockModel::contradicts(const ClockMeasurement& measured) const {
    if (m_window.empty()) return false;
    const std::int64_t baseNs = m_window.back().aheadNs();
    const auto outside = [&](const ClockBound& bound, double sign) {
        const auto lines = linesOf(m_window, bound.timeNs, baseNs);
        if (!lines) return false;
        const auto passed = static_cast<double>(bound.timeNs - m_window.back().timeNs());
        const double slack = kMostChange * std::max(0.0, passed);
        const auto ahead = static_cast<double>(bound.aheadNs - baseNs);
        return sign < 0 ? ahead > lines->ahead.most + slack : ahead < lines->ahead.least - slack;
    };
    return outside(measured.least, -1) || outside(measured.most, 1);
}

std::optional<ClockEstimate> ClockModel::add(const ClockMeasurement& measured, std::int64_t forNs) {
    if (measured.widthNs() < 0 &&
        static_cast<double>(-measured.widthNs()) >
            kMostDrift *
                    static_cast<double>(std::abs(measured.least.timeNs - measured.most.timeNs)) +
                kRounding)
        return std::nullopt;  // set meanwhile: neither before nor after
    if (!contradicts(measured)) {
        m_aside.clear();
        m_window.push_back(measured);
        if (m_window.size() > kKept) m_window.pop_front();
        return estimate(forNs);
    }
    m_aside.push_back(measured);
    while (!linesOf(m_aside, measured.timeNs(), measured.aheadNs())) m_aside.pop_front();
    if (m_aside.size() < kSeen) return std::nullopt;
    return restart(forNs);
}

ClockEstimate ClockModel::estimate(std::int64_t forNs) {
    const ClockMeasurement& last = m_window.back();
    auto lines = linesOf(m_window, forNs, last.aheadNs());
    while (!lines) {
        m_window.pop_front();
        lines = linesOf(m_window, forNs, last.aheadNs());
    }
    const Range& ahead = lines->ahead;
    const Range& drift = lines->drift;
    ClockEstimate made;
    made.timeNs = forNs;
    made.aheadNs = last.aheadNs() + std::llround(ahead.middle());
    made.errorNs = static_cast<std::int64_t>(std::ceil((ahead.most - ahead.least) / 2)) + 1;
    made.driftPpb = std::llround(drift.middle() * 1e9);
    made.driftErrorPpb =
        static_cast<std::int64_t>(std::ceil((drift.most - drift.least) / 2 * 1e9)) + 1;
    return made;
}

/// The clock was set: what was before says nothing of now, but how far it went.
ClockEstimate ClockModel::restart(std::int64_t forNs) {
    const ClockMeasurement first = m_aside.front();
    const std::int64_t baseNs = m_window.back().aheadNs();
    const auto before = linesOf(m_window, first.timeNs(), baseNs);
    const std::int64_t expected =
        baseNs + (before ? std::llround(before->ahead.middle()) : std::int64_t{0});
    m_window = std::exchange(m_aside, {});
    ClockEstimate made = estimate(forNs);
    made.stepNs = first.aheadNs() - expected;
    return made;
}

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
