#include "engine/worker/measuring/norm_measurement.h"

#include "engine/kernels/norm.h"
#include "engine/kernels/norm_rows.h"
#include "engine/worker/gpu_speed.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <tuple>
#include <utility>

namespace shardscope::worker {
namespace {

using run::MachineFigure;

/// Tensors as large as the input that are there at once at most: input and gradient, and while an
/// RMS norm goes backward in steps its products in fp32.
constexpr double kMostTensors = 8;
constexpr double kWidest = 4;

kernels::Parameter parameterOf(const at::Tensor& value) {
    kernels::Parameter parameter;
    parameter.shape = {value.size(0)};
    parameter.value = value;
    parameter.gradient = at::empty_like(value);
    return parameter;
}

}  // namespace

NormMeasurement::NormMeasurement(MachineParts parts, run::Precision precision)
    : m_parts(std::move(parts)), m_sampler(m_parts), m_precision(precision) {}

void NormMeasurement::run(const std::vector<run::NormShape>& shapes) {
    if (!m_sampler.onGpu()) at::set_num_threads(m_parts.threads);
    for (const run::NormShape& shape : shapes) {
        if (m_parts.stopWanted()) return;
        const double needed = kMostTensors * kWidest * static_cast<double>(shape.rows) *
                              static_cast<double>(shape.width);
        if (needed <= static_cast<double>(m_parts.freeBytes)) {
            measure(shape);
            continue;
        }
        m_parts.warn(fmt::format(
            "norms of {} x {} were not measured, out of memory: they take "
            "{:.1f} GB, and {:.1f} GB may be used",
            shape.rows, shape.width, needed * 1e-9, static_cast<double>(m_parts.freeBytes) * 1e-9));
    }
}

void NormMeasurement::measure(const run::NormShape& shape) {
    const auto options = at::TensorOptions().dtype(computeType(m_precision)).device(m_parts.device);
    const at::Tensor x = at::randn({shape.rows, shape.width}, options);
    const at::Tensor dy = at::randn({shape.rows, shape.width}, options);
    ours(x, dy, false);
    ours(x, dy, true);
    library(x, dy);
    inSteps(x, dy);
}

void NormMeasurement::ours(const at::Tensor& x, const at::Tensor& dy, bool rms) {
    kernels::Parameter weight = parameterOf(at::ones({x.size(1)}, x.options()));
    kernels::Parameter bias = parameterOf(at::zeros({x.size(1)}, x.options()));
    const kernels::Norm norm{&weight, rms ? nullptr : &bias};
    kernels::NormState state;
    sample(rms ? MachineFigure::kRmsNorm : MachineFigure::kLayerNorm, x, [&] {
        state = {};
        state = kernels::normForward(x, {}, norm);
    });
    at::Tensor dx;
    sample(rms ? MachineFigure::kRmsNormBackward : MachineFigure::kLayerNormBackward, x, [&] {
        dx.reset();
        dx = kernels::normBackward(dy, {}, state, norm);
    });
}

void NormMeasurement::library(const at::Tensor& x, const at::Tensor& dy) {
    const at::Tensor weight = at::ones({x.size(1)}, x.options());
    const at::Tensor bias = at::zeros({x.size(1)}, x.options());
    at::Tensor value, mean, rstd;
    sample(MachineFigure::kLibraryNorm, x, [&] {
        value.reset();
        std::tie(value, mean, rstd) =
            at::native_layer_norm(x, {x.size(1)}, weight, bias, kernels::kNormEpsilon);
    });
    at::Tensor dx, dWeight, dBias;
    sample(MachineFigure::kLibraryNormBackward, x, [&] {
        dx.reset();
        std::tie(dx, dWeight, dBias) = at::native_layer_norm_backward(
            dy, x, {x.size(1)}, mean, rstd, weight, bias, {true, true, true});
    });
}

/// y = z w with z = x / sqrt(mean(x^2) + epsilon); dx = (g - z mean(g z)) / sqrt(...) with g = dy
/// w.
void NormMeasurement::inSteps(const at::Tensor& x, const at::Tensor& dy) {
    const at::Tensor weight = at::ones({x.size(1)}, x.options());
    at::Tensor z, rstd, y;
    sample(MachineFigure::kSteppedNorm, x, [&] {
        z.reset();
        y.reset();
        rstd = at::rsqrt((x * x).mean(1, true) + kernels::kNormEpsilon);
        z = x * rstd;
        y = z * weight;
    });
    at::Tensor dx, dWeight;
    sample(MachineFigure::kSteppedNormBackward, x, [&] {
        dx.reset();
        const at::Tensor g = dy * weight;
        dWeight = (dy * z).sum(0);
        dx = rstd * (g - z * (g * z).mean(1, true));
    });
}

void NormMeasurement::sample(MachineFigure which, const at::Tensor& x,
                             const std::function<void()>& work) {
    run::MeasuredFigure what = m_sampler.figure(which);
    what.precision = m_precision;
    what.rows = x.size(0);
    what.columns = x.size(1);
    m_sampler.sample(what, [&] { return m_sampler.secondsOf(work); });
}

}  // namespace shardscope::worker
