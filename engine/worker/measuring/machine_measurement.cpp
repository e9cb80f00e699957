#include "engine/worker/measuring/machine_measurement.h"

#include "engine/kernels/matmul.h"
#include "engine/kernels/norm.h"
#include "engine/kernels/norm_rows.h"
#include "engine/worker/gpu_speed.h"
#include "engine/worker/host_peak.h"
#include "storage/model/host_clock.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <tuple>
#include <utility>

namespace shardscope::worker {
namespace {

using run::MachineFigure;
using run::Precision;

/// Calls of a launch sample: fewer than a GPU's queue holds, so that none waits for room.
constexpr int kLaunches = 500;
constexpr std::int64_t kLeastArray = 64'000'000;

struct Shape {
    std::int64_t rows, inner, columns;
    [[nodiscard]] double flops() const {
        return 2.0 * static_cast<double>(rows) * static_cast<double>(inner) *
               static_cast<double>(columns);
    }
};
/// From small to large, those of a feed-forward layer among them. A GPU's need to be larger.
constexpr std::array kHostShapes{Shape{256, 256, 256}, Shape{512, 512, 2048},
                                 Shape{1024, 1024, 1024}, Shape{2048, 1024, 4096}};
constexpr std::array kDeviceShapes{Shape{1024, 1024, 1024}, Shape{4096, 1024, 4096},
                                   Shape{4096, 4096, 4096}, Shape{8192, 8192, 8192}};

std::vector<Precision> precisionsOf(bool gpu) {
    std::vector<Precision> all{Precision::kFloat32, Precision::kBFloat16, Precision::kFloat16};
    if (gpu) all.insert(all.begin() + 1, Precision::kTf32);
    return all;
}

/// Of narrow types on a CPU by the faster of its two ways, as a run does. Where that takes long, by
/// a smaller product.
void chooseWay(Precision precision, double seconds) {
    if (precision == Precision::kFloat32) return;
    constexpr double kLittle = 0.1;
    const auto slowdown = seconds < kLittle ? kernels::slowdownOf(computeType(precision), 128, 256)
                                            : kernels::slowdownOf(computeType(precision), 256, 384);
    kernels::useNarrowProducts(slowdown.faster());
}

std::int64_t lastCacheBytes() {
    const long level3 = ::sysconf(_SC_LEVEL3_CACHE_SIZE), level2 = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
    return std::max<std::int64_t>(0, std::max(level3, level2));
}

/// So that runs which train go by what is found here too.
void keepPeak(Precision precision, int threads, double flops) {
    const PeakStore store(peakStorePath());
    const std::string key = hostPeakKey(precision, threads);
    const HostPeak peak{flops, false, static_cast<std::int64_t>(std::time(nullptr))};
    store.keep(key, choosePeak(store.find(key, peak.unixS), peak, "").peak);
}

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

std::int64_t measuredArrayBytes(std::int64_t cache, std::int64_t freeBytes) {
    constexpr std::int64_t kMostArray = 1'000'000'000;
    const std::int64_t wanted = std::clamp(4 * cache, kLeastArray, kMostArray);
    return std::max<std::int64_t>(sizeof(float), std::min(wanted, freeBytes / 16));
}

MachineMeasurement::MachineMeasurement(MachineParts parts)
    : m_parts(std::move(parts)), m_sampler(m_parts) {}

void MachineMeasurement::run() {
    if (!onGpu()) at::set_num_threads(m_parts.threads);
    memory();
    if (onGpu()) deviceCopies();
    launches();
    products();
}

void MachineMeasurement::products() {
    for (const Precision precision : precisionsOf(onGpu())) {
        if (m_parts.stopWanted()) return;
        if (!onGpu()) chooseWay(precision, m_sampler.seconds());
        const double best = productsIn(precision);
        if (!onGpu() && precision == Precision::kFloat32) warnOfBusyCores(best);
    }
}

double MachineMeasurement::productsIn(Precision precision) {
    double best = 0;
    // What would take far too long is left out.
    for (const Shape& shape : onGpu() ? kDeviceShapes : kHostShapes) {
        if (best > 0 && shape.flops() / best > FigureSampler::kFarTooLong * m_sampler.seconds())
            break;
        run::MeasuredFigure what = m_sampler.figure(MachineFigure::kMatmul);
        what.precision = precision;
        what.rows = shape.rows;
        what.inner = shape.inner;
        what.columns = shape.columns;
        const std::function<double()> take = onGpu() ? deviceProduct(what) : hostProduct(what);
        m_sampler.sample(what, [&] {
            const double rate = take();
            best = std::max(best, rate);
            return rate;
        });
    }
    if (!onGpu() && best > 0) keepPeak(precision, m_parts.threads, best);
    return best;
}

/// Threads that wait for each other are slowed down by any process that takes a core from one of
/// them.
void MachineMeasurement::warnOfBusyCores(double together) const {
    constexpr std::int64_t kSide = 512;
    constexpr int kTries = 5;
    if (m_parts.threads == 1) return;
    at::set_num_threads(1);
    const kernels::MatmulBurst burst(kSide, at::kFloat);
    double alone = 0;
    for (int i = 0; i < kTries; ++i) alone = std::max(alone, burst.run());
    at::set_num_threads(m_parts.threads);
    HostPeak peak;
    peak.flops = together;
    if (isPlausible(peak, alone, m_parts.threads)) return;
    m_parts.warn(fmt::format(
        "{} threads together reached {:.3g} GFLOP/s in fp32 products where one alone reaches "
        "{:.3g}: other work had some of the cores, and figures are too low",
        m_parts.threads, together * 1e-9, alone * 1e-9));
}

/// FLOP/s of one product.
std::function<double()> MachineMeasurement::hostProduct(const run::MeasuredFigure& what) const {
    const at::ScalarType type = computeType(what.precision);
    const at::Tensor a = at::randn({what.rows, what.inner}).to(type);
    const at::Tensor b = at::randn({what.inner, what.columns}).to(type);
    const at::Tensor out = at::empty({what.rows, what.columns}, type);
    const double flops = Shape{what.rows, what.inner, what.columns}.flops();
    return [=, this] { return flops / m_sampler.secondsOf([&] { kernels::matmul(a, b, out); }); };
}

/// The best of a part of a figure's time.
std::function<double()> MachineMeasurement::deviceProduct(const run::MeasuredFigure& what) const {
    const double seconds = m_sampler.seconds() / (m_parts.samples + 1);
    return [this, what, seconds] {
        return m_parts.deviceProduct(what.rows, what.inner, what.columns, what.precision, seconds);
    };
}

void MachineMeasurement::memory() {
    if (m_parts.stopWanted()) return;
    const std::int64_t bytes =
        measuredArrayBytes(onGpu() ? 0 : lastCacheBytes(), m_parts.freeBytes);
    const std::int64_t elements = bytes / static_cast<std::int64_t>(sizeof(float));
    const auto options = at::TensorOptions().dtype(at::kFloat).device(m_parts.device);
    const at::Tensor b = at::ones({elements}, options), c = at::ones({elements}, options);
    at::Tensor a = at::empty({elements}, options);
    const auto moved = static_cast<double>(elements) * sizeof(float);
    m_sampler.sample(m_sampler.figure(MachineFigure::kTriad), [&] {
        return 3 * moved / m_sampler.secondsOf([&] { at::add_out(a, b, c, 3); });
    });
    m_sampler.sample(m_sampler.figure(MachineFigure::kCopy),
                     [&] { return moved / m_sampler.secondsOf([&] { a.copy_(b); }); });
}

void MachineMeasurement::deviceCopies() {
    if (m_parts.stopWanted()) return;
    const std::int64_t elements = measuredArrayBytes(0, m_parts.freeBytes) / 4;
    // A fake device's memory is the host's, and nothing pins it.
    const at::Tensor host = at::empty(
        {elements}, at::TensorOptions().dtype(at::kFloat).pinned_memory(!m_parts.device.is_cpu()));
    const at::Tensor there =
        at::empty({elements}, at::TensorOptions().dtype(at::kFloat).device(m_parts.device));
    const auto moved = static_cast<double>(elements) * sizeof(float);
    m_sampler.sample(m_sampler.figure(MachineFigure::kToDevice),
                     [&] { return moved / m_sampler.secondsOf([&] { there.copy_(host, true); }); });
    m_sampler.sample(m_sampler.figure(MachineFigure::kFromDevice),
                     [&] { return moved / m_sampler.secondsOf([&] { host.copy_(there, true); }); });
}

/// Until the calls have returned: on a GPU their work goes on behind them.
void MachineMeasurement::launches() {
    if (m_parts.stopWanted()) return;
    const auto options = at::TensorOptions().dtype(at::kFloat).device(m_parts.device);
    const at::Tensor one = at::ones({1}, options);
    at::Tensor sum = at::ones({1}, options);
    m_sampler.sample(m_sampler.figure(MachineFigure::kLaunch), [&] {
        if (onGpu()) m_parts.runtime->synchronizeAll();
        const std::int64_t start = hostNow();
        for (int i = 0; i < kLaunches; ++i) at::add_out(sum, one, one);
        return static_cast<double>(hostNow() - start) * 1e-9 / kLaunches;
    });
}

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
