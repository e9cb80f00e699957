// Measures what a machine does beside collectives (run/config/machine_figure.h): matrix products by
// type and shape, memory, copies, launches. Step thread of one rank of a host, while the others
// wait.
//
// On a CPU with all threads that the host's ranks may use together, on a GPU by its own; a figure
// is sampled a few times, and each sample is told.
#pragma once

#include "engine/control/device_runtime.h"
#include "engine/run/config/machine_figure.h"

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

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

/// Bytes of each array that memory is measured with: four times the last cache, as STREAM asks for,
/// at least 64 MB and within a sixteenth of what is free. `cache` 0: not known. Pure.
[[nodiscard]] std::int64_t measuredArrayBytes(std::int64_t cache, std::int64_t freeBytes);

class MachineMeasurement {
public:
    explicit MachineMeasurement(MachineParts parts);
    /// Stops early when asked to; what was told stays. Throws what LibTorch throws.
    void run();

private:
    void products();
    /// FLOP/s of the best.
    double productsIn(run::Precision precision);
    void warnOfBusyCores(double together) const;
    [[nodiscard]] std::function<double()> hostProduct(const run::MeasuredFigure& what) const;
    [[nodiscard]] std::function<double()> deviceProduct(const run::MeasuredFigure& what) const;
    void memory();
    void deviceCopies();
    void launches();
    void sample(run::MeasuredFigure figure, const std::function<double()>& take);
    [[nodiscard]] double secondsOf(const std::function<void()>& work) const;
    [[nodiscard]] run::MeasuredFigure figure(run::MachineFigure which) const;
    [[nodiscard]] bool onGpu() const { return m_parts.runtime != nullptr; }

    const MachineParts m_parts;
    const double m_seconds;  ///< for a figure
};

}  // namespace shardscope::worker
