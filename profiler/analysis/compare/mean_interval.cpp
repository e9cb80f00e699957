#include "profiler/analysis/compare/mean_interval.h"

#include <array>
#include <cmath>
#include <numeric>

namespace shardscope::analysis {

double studentQuantile(std::size_t freedom) {
    static constexpr std::array<double, 30> kTable{
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
        2.2010,  2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
        2.0796,  2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423};
    if (freedom <= kTable.size()) return kTable[freedom == 0 ? 0 : freedom - 1];
    // Cornish and Fisher's expansion, to 1e-4 from here on.
    constexpr double z = 1.959964;
    const auto n = static_cast<double>(freedom);
    return z + (z * z * z + z) / (4 * n) +
           (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * n * n);
}

std::optional<MeanInterval> meanOf(const std::vector<double>& values) {
    if (values.empty()) return std::nullopt;
    MeanInterval found;
    found.count = values.size();
    const auto n = static_cast<double>(values.size());
    found.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
    if (values.size() < 2) return found;
    double squares = 0;
    for (const double value : values) squares += (value - found.mean) * (value - found.mean);
    found.deviation = std::sqrt(squares / (n - 1));
    const double half = studentQuantile(values.size() - 1) * *found.deviation / std::sqrt(n);
    found.low = found.mean - half;
    found.high = found.mean + half;
    return found;
}

std::optional<MeanInterval> meanOfRuns(const std::vector<std::vector<double>>& runs) {
    std::vector<double> means;
    const std::vector<double>* some = nullptr;
    for (const std::vector<double>& run : runs) {
        const auto mean = meanOf(run);
        if (!mean) continue;
        means.push_back(mean->mean);
        some = &run;
    }
    if (means.size() != 1) return meanOf(means);
    auto found = meanOf(*some);
    found->ofSteps = true;
    return found;
}

}  // namespace shardscope::analysis
