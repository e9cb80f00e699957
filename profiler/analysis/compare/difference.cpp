#include "profiler/analysis/compare/difference.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <utility>

namespace shardscope::analysis {
namespace {

constexpr int kResamples = 4000;
constexpr double kOutside = 0.0015;  ///< on either side of the interval
/// Longer runs are looked at in so many stretches, each by its median.
constexpr std::size_t kMostSamples = 400;
/// Stretches whose medians tell how slowly a run's level changes, and the fewest steps of one.
constexpr std::size_t kStretches = 5, kLeastOfStretch = 4;
/// Between the quartiles of a normal distribution, in deviations.
constexpr double kQuartilesApart = 1.349;
/// Of 40 pairs of equal runs on two cores of a shared virtual machine one differed by more.
constexpr double kSlowDeviations = 2.5;

/// Between the two nearest, which it may reorder.
double quantile(std::vector<double>& values, double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(below),
                     values.end());
    const double low = values[below];
    if (below + 1 == values.size()) return low;
    const double high =
        *std::min_element(values.begin() + static_cast<std::ptrdiff_t>(below) + 1, values.end());
    return low + (place - static_cast<double>(below)) * (high - low);
}

double medianOfCopy(std::vector<double> values) {
    return quantile(values, 0.5);
}

double spreadOf(std::vector<double> values) {
    const double low = quantile(values, 0.25);
    return quantile(values, 0.75) - low;
}

std::vector<double> inStretches(const std::vector<double>& samples) {
    if (samples.size() <= kMostSamples) return samples;
    std::vector<double> medians;
    for (std::size_t i = 0; i < kMostSamples; ++i) {
        const auto at = [&](std::size_t n) {
            return samples.begin() + static_cast<std::ptrdiff_t>(n * samples.size() / kMostSamples);
        };
        medians.push_back(medianOfCopy({at(i), at(i + 1)}));
    }
    return medians;
}

/// Medians of runs put together from blocks of this one.
class Resampler {
public:
    explicit Resampler(std::vector<double> samples, std::uint64_t seed)
        : m_samples(std::move(samples)),
          m_block(static_cast<std::size_t>(
              std::lround(std::cbrt(static_cast<double>(m_samples.size()))))),
          m_random(seed) {}

    double median() {
        m_run.clear();
        while (m_run.size() < m_samples.size()) {
            const std::size_t begin = m_random() % m_samples.size();
            for (std::size_t i = 0; i < m_block && m_run.size() < m_samples.size(); ++i)
                m_run.push_back(m_samples[(begin + i) % m_samples.size()]);
        }
        return quantile(m_run, 0.5);
    }

private:
    const std::vector<double> m_samples;
    const std::size_t m_block;
    std::mt19937_64 m_random;
    std::vector<double> m_run;
};

/// By how much the run's level changes more slowly than blocks are long, relative to its median:
/// the variance of the medians of its stretches, less what the spread within them explains (that of
/// a normal sample's median is pi / 2 x variance / size).
double slowVariance(const std::vector<double>& samples, double median) {
    if (samples.size() < kStretches * kLeastOfStretch || median <= 0) return 0;
    std::vector<double> medians;
    double explained = 0;
    for (std::size_t i = 0; i < kStretches; ++i) {
        const auto at = [&](std::size_t n) {
            return samples.begin() + static_cast<std::ptrdiff_t>(n * samples.size() / kStretches);
        };
        std::vector<double> stretch(at(i), at(i + 1));
        const double deviation = spreadOf(stretch) / kQuartilesApart;
        explained += std::numbers::pi / 2 * deviation * deviation /
                     static_cast<double>(stretch.size()) / kStretches;
        medians.push_back(medianOfCopy(std::move(stretch)));
    }
    double mean = 0, variance = 0;
    for (const double each : medians) mean += each / kStretches;
    for (const double each : medians) variance += (each - mean) * (each - mean) / (kStretches - 1);
    return std::max(0.0, variance - explained) / (median * median);
}

/// Runs differ by what a run changes slowly.
void widen(const std::vector<double>& first, const std::vector<double>& second,
           Difference& difference) {
    const double ratio = 1 + difference.change.value_or(0);
    const double slow = kSlowDeviations * ratio *
                        std::sqrt(slowVariance(first, difference.first.value_or(0)) +
                                  slowVariance(second, difference.second.value_or(0)));
    const double change = difference.change.value_or(0);
    // Nothing is less by more than all of it.
    difference.low = std::max(-1.0, change - std::hypot(change - *difference.low, slow));
    difference.high = change + std::hypot(*difference.high - change, slow);
}

void setInterval(const std::vector<double>& first, const std::vector<double>& second,
                 Difference& difference) {
    Resampler one(inStretches(first), 1), other(inStretches(second), 2);
    std::vector<double> changes;
    for (int i = 0; i < kResamples; ++i) {
        const double base = one.median();
        if (base > 0) changes.push_back(other.median() / base - 1);
    }
    if (changes.empty()) return;
    difference.low = quantile(changes, kOutside);
    difference.high = quantile(changes, 1 - kOutside);
    if (difference.change) widen(first, second, difference);
}

Verdict directed(double change, Better better) {
    return (change < 0) == (better == Better::kLower) ? Verdict::kImproved : Verdict::kRegressed;
}

Verdict verdictOf(const Difference& difference, Better better) {
    if (!difference.change || !difference.low || !difference.high) return Verdict::kUnknown;
    const bool apart = *difference.low > 0 || *difference.high < 0;
    if (apart && std::abs(*difference.change) >= kLeastChange)
        return directed(*difference.change, better);
    const bool close = *difference.low > -kSoughtChange && *difference.high < kSoughtChange;
    return close ? Verdict::kNoChange : Verdict::kUnknown;
}

void setChange(Difference& difference) {
    if (difference.first && difference.second && *difference.first > 0)
        difference.change = *difference.second / *difference.first - 1;
}

}  // namespace

Difference differenceOf(const std::vector<double>& first, const std::vector<double>& second,
                        Better better) {
    Difference difference;
    if (!first.empty()) {
        difference.first = medianOfCopy(first);
        difference.firstSpread = spreadOf(first);
    }
    if (!second.empty()) {
        difference.second = medianOfCopy(second);
        difference.secondSpread = spreadOf(second);
    }
    setChange(difference);
    if (std::min(first.size(), second.size()) < kLeastSamples) return difference;
    if (*difference.first == 0 && *difference.second == 0) {
        difference.verdict = Verdict::kNoChange;
        return difference;
    }
    setInterval(first, second, difference);
    difference.verdict = verdictOf(difference, better);
    return difference;
}

Difference exactDifference(std::optional<double> first, std::optional<double> second,
                           Better better) {
    Difference difference;
    difference.first = first;
    difference.second = second;
    setChange(difference);
    if (first && second && *first == *second) difference.verdict = Verdict::kNoChange;
    if (!difference.change) return difference;
    difference.low = difference.high = difference.change;
    difference.verdict = std::abs(*difference.change) < kLeastChange
                             ? Verdict::kNoChange
                             : directed(*difference.change, better);
    return difference;
}

}  // namespace shardscope::analysis
