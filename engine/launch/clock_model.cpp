#include "engine/launch/clock_model.h"

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

}  // namespace shardscope::launch
