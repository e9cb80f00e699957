#include "storage/model/recording_clock.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace shardscope {
namespace {

/// Threads that read the clock just now see the correction before it is in force.
constexpr std::int64_t kMomentNs = 1'000'000;
/// Beyond any clock's; the difference of two times stays exact in a double for months.
constexpr std::int64_t kNoDriftPpb = 100'000'000;
constexpr std::int64_t kNoTimeNs = std::int64_t{1} << 60;

bool makesSense(const ClockLine& line) {
    return std::abs(line.driftPpb) < kNoDriftPpb && std::abs(line.fromNs) < kNoTimeNs &&
           std::abs(line.originNs) < kNoTimeNs;
}

}  // namespace

const RecordingClock::Piece* RecordingClock::inForce(std::int64_t hostNs) const {
    const Piece* piece = m_newest.load(std::memory_order_relaxed);
    while (piece != nullptr && hostNs < piece->fromNs) piece = piece->older;
    return piece;
}

const RecordingClock::Piece* RecordingClock::add(std::int64_t fromNs, std::int64_t atFromNs,
                                                 double gain, const Piece* older) {
    const auto scaled = static_cast<std::int64_t>(std::llround(std::ldexp(gain, kShift)));
    return &m_pieces.emplace_back(Piece{fromNs, atFromNs, scaled, older});
}

void RecordingClock::correct(const ClockLine& line, std::int64_t nowNs) {
    if (!makesSense(line)) return;
    const double drift = static_cast<double>(line.driftPpb) * 1e-9;
    const double gain = -drift / (1 + drift);
    const auto onLine = [&](std::int64_t hostNs) {
        const std::int64_t passed = hostNs - line.fromNs;
        return line.fromNs - line.originNs + passed +
               std::llround(static_cast<double>(passed) * gain);
    };
    const std::int64_t fromNs = std::max(line.fromNs, nowNs + kMomentNs);
    const Piece* older = inForce(fromNs);
    const std::int64_t nowAt = older == nullptr ? fromNs - m_originNs : older->at(fromNs);
    const std::int64_t behind = onLine(fromNs) - nowAt;
    if (static_cast<double>(behind) > kMostHaste * static_cast<double>(kSlewNs)) {
        m_newest.store(add(fromNs, nowAt + behind, gain, older), std::memory_order_release);
        return;
    }
    const std::int64_t slewNs =
        std::max<std::int64_t>(kSlewNs, std::llround(-static_cast<double>(behind) / kMostDelay));
    const double bent = gain + static_cast<double>(behind) / static_cast<double>(slewNs);
    const Piece* bend = add(fromNs, nowAt, bent, older);
    const std::int64_t metNs = fromNs + slewNs;
    m_newest.store(add(metNs, bend->at(metNs), gain, bend), std::memory_order_release);
}

}  // namespace shardscope
