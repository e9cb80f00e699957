// Takes samples of a machine's figures and tells each: what measuring products, memory and norms
// has in common. Step thread.
#pragma once

#include "engine/control/device_runtime.h"
#include "engine/run/config/machine_figure.h"

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <string>

namespace shardscope::worker {

struct MachineParts {
    at::Device device = at::kCPU;
    control::DeviceRuntime* runtime = nullptr;  ///< of a GPU
    /// FLOP/s of a product on a GPU: rows, inner, columns, precision, seconds to take. Null: CPU.
    std::function<double(std::int64_t, std::int64_t, std::int64_t, run::Precision, double)>
        deviceProduct;
    std::int32_t host = 0;
    int threads = 1;             ///< of a CPU; the process has as many when this returns
    std::int32_t samples = 5;    ///< of a figure, the time allowing
    double seconds = 0;          ///< for a figure; 0: none given
    std::int64_t freeBytes = 0;  ///< of the memory measured
    std::function<void(const run::MeasuredFigure&, double)> tell;
    std::function<void(const std::string&)> warn;  ///< of figures that are too low
    std::function<bool()> stopWanted;
};

class FigureSampler {
public:
    /// `parts` outlives it.
    explicit FigureSampler(const MachineParts& parts);
    /// The first is warm-up and does not count: libraries set themselves up, pages come. A few are
    /// taken whatever the time, of what is not far too slow for it.
    void sample(const run::MeasuredFigure& figure, const std::function<double()>& take) const;
    /// Of work on the device, until it is done.
    [[nodiscard]] double secondsOf(const std::function<void()>& work) const;
    /// Of this host, by all of its threads or one GPU.
    [[nodiscard]] run::MeasuredFigure figure(run::MachineFigure which) const;
    [[nodiscard]] double seconds() const { return m_seconds; }  ///< for a figure
    [[nodiscard]] bool onGpu() const { return m_parts.runtime != nullptr; }
    /// A sample that takes longer than so many times a figure's time is far too slow for it.
    static constexpr double kFarTooLong = 4;

private:
    const MachineParts& m_parts;
    const double m_seconds;
};

}  // namespace shardscope::worker
