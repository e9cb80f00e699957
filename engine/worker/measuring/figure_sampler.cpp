#include "engine/worker/measuring/figure_sampler.h"

#include "storage/model/host_clock.h"

#include <algorithm>

namespace shardscope::worker {
namespace {

/// Where no time was given.
constexpr double kUsualSeconds = 0.3;
constexpr std::int32_t kLeastSamples = 3;

}  // namespace

FigureSampler::FigureSampler(const MachineParts& parts)
    : m_parts(parts), m_seconds(parts.seconds > 0 ? parts.seconds : kUsualSeconds) {}

run::MeasuredFigure FigureSampler::figure(run::MachineFigure which) const {
    run::MeasuredFigure figure;
    figure.host = m_parts.host;
    figure.figure = which;
    figure.threads = onGpu() ? 1 : m_parts.threads;
    return figure;
}

void FigureSampler::sample(const run::MeasuredFigure& figure,
                           const std::function<double()>& take) const {
    const std::int64_t began = hostNow();
    static_cast<void>(take());
    const std::int64_t warm = hostNow();
    const auto limit = static_cast<std::int64_t>(m_seconds * 1e9);
    const bool slow = warm - began > static_cast<std::int64_t>(kFarTooLong) * limit;
    const std::int32_t least = slow ? 1 : kLeastSamples;
    for (std::int32_t i = 0; i < m_parts.samples; ++i) {
        if (i >= least && hostNow() - warm >= limit) break;
        m_parts.tell(figure, take());
    }
}

double FigureSampler::secondsOf(const std::function<void()>& work) const {
    if (onGpu()) m_parts.runtime->synchronizeAll();
    const std::int64_t start = hostNow();
    work();
    if (onGpu()) m_parts.runtime->synchronizeAll();
    return static_cast<double>(std::max<std::int64_t>(1, hostNow() - start)) * 1e-9;
}

}  // namespace shardscope::worker
