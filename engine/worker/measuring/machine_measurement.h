// Measures what a machine does beside collectives (run/config/machine_figure.h): matrix products by
// type and shape, memory, copies, launches. Step thread of one rank of a host, while the others
// wait.
//
// On a CPU with all threads that the host's ranks may use together, on a GPU by its own; a figure
// is sampled a few times, and each sample is reported.
#pragma once

#include "engine/run/config/machine_figure.h"
#include "engine/run/config/measurement_plan.h"
#include "engine/worker/measuring/figure_sampler.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace shardscope::worker {

/// Bytes of each array that memory is measured with: four times the last cache, as STREAM asks for,
/// at least 64 MB and within a sixteenth of what is free. `cache` 0: not known. Pure.
[[nodiscard]] std::int64_t measuredArrayBytes(std::int64_t cache, std::int64_t freeBytes);

class MachineMeasurement {
public:
    explicit MachineMeasurement(MachineParts parts);
    /// Stops early when asked to; what was reported stays. Throws what LibTorch throws.
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
    [[nodiscard]] bool onGpu() const { return m_sampler.onGpu(); }

    const MachineParts m_parts;
    const FigureSampler m_sampler;
};

/// Times layer and RMS norms forward and backward: as a run does them, by LibTorch's own operator
/// and by one operator after the other. Step thread of one rank of a host, while the others wait.
class NormMeasurement {
public:
    /// Inputs of this precision; weights likewise.
    NormMeasurement(MachineParts parts, run::Precision precision);
    /// In this order; stops early when asked to, and warns of those that take more memory than is
    /// free. Throws what LibTorch throws.
    void run(const std::vector<run::NormShape>& shapes);

private:
    void measure(const run::NormShape& shape);
    void ours(const at::Tensor& x, const at::Tensor& dy, bool rms);
    void library(const at::Tensor& x, const at::Tensor& dy);
    void inSteps(const at::Tensor& x, const at::Tensor& dy);
    void sample(run::MachineFigure which, const at::Tensor& x, const std::function<void()>& work);

    const MachineParts m_parts;
    const FigureSampler m_sampler;
    const run::Precision m_precision;
};

}  // namespace shardscope::worker
