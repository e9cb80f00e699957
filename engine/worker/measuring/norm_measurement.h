// Times layer and RMS norms forward and backward: as a run does them, by LibTorch's own operator
// and by one operator after the other. Step thread of one rank of a host, while the others wait.
#pragma once

#include "engine/run/config/measurement_plan.h"
#include "engine/worker/measuring/figure_sampler.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace shardscope::worker {

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
