#include "engine/kernels/matmul.h"

#include "engine/control/observer.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>

#include <algorithm>

// Exported by libtorch_cpu 2.11.0; its header is not part of the wheel.
namespace at::native {
void mkldnn_matmul(const Tensor& mat1, const Tensor& mat2, const Tensor& result, float beta,
                   float alpha);
}

namespace shardscope::kernels {
namespace {

MatmulLibrary g_library = MatmulLibrary::kMkl;  // set before the first step, then constant

double bestSeconds(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out, int repeats) {
    std::int64_t best = INT64_MAX;
    for (int i = 0; i < repeats; ++i) {
        const std::int64_t start = control::now();
        matmul(a, b, out);
        best = std::min(best, control::now() - start);
    }
    return static_cast<double>(best) * 1e-9;
}

/// Products of bf16 or fp16 kept in fp32. cuBLAS writes fp32 itself; a CPU product is rounded once
/// first.
void widenedMatmul(const at::Tensor& a, const at::Tensor& b, at::Tensor out, bool accumulate) {
    if (!out.is_cuda()) {
        const at::Tensor product = at::mm(a, b);
        accumulate ? out.add_(product) : out.copy_(product);
    } else if (accumulate) {
        at::addmm_out(out, out, a, b, at::kFloat);
    } else {
        at::mm_out(out, a, b, at::kFloat);
    }
}

}  // namespace

const char* toWord(MatmulLibrary library) {
    return library == MatmulLibrary::kMkl ? "MKL" : "oneDNN";
}

void useMatmulLibrary(MatmulLibrary library) {
    g_library = library;
}

void matmul(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out, bool accumulate) {
    if (out.scalar_type() != a.scalar_type()) return widenedMatmul(a, b, out, accumulate);
    const bool chosen = a.is_cpu() && a.scalar_type() == at::kFloat;
    if (chosen && g_library == MatmulLibrary::kOneDnn) {
        at::native::mkldnn_matmul(a, b, out, accumulate ? 1.0F : 0.0F, 1.0F);
        return;
    }
    at::Tensor result = out;
    if (accumulate) {
        at::addmm_out(result, out, a, b);
    } else {
        at::mm_out(result, a, b);
    }
}

void batchedMatmul(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out) {
    at::native::mkldnn_matmul(a, b, out, 0.0F, 1.0F);
}

MatmulLibrary fasterMatmulLibrary(std::int64_t tokens, std::int64_t hidden) {
    const at::Tensor a = at::randn({std::min<std::int64_t>(tokens, 1024), hidden});
    const at::Tensor b = at::randn({hidden, 4 * hidden});
    const at::Tensor out = at::empty({a.size(0), 4 * hidden});
    const MatmulLibrary before = g_library;
    double seconds[2];
    for (MatmulLibrary library : {MatmulLibrary::kMkl, MatmulLibrary::kOneDnn}) {
        useMatmulLibrary(library);
        seconds[static_cast<int>(library)] = bestSeconds(a, b, out, 5);
    }
    useMatmulLibrary(before);
    return seconds[1] < seconds[0] ? MatmulLibrary::kOneDnn : MatmulLibrary::kMkl;
}

double slowdownOf(at::ScalarType type, std::int64_t tokens, std::int64_t hidden) {
    const at::Tensor a = at::randn({std::min<std::int64_t>(tokens, 256), hidden});
    const at::Tensor b = at::randn({hidden, 4 * hidden});
    const at::Tensor out = at::empty({a.size(0), 4 * hidden});
    const double plain = bestSeconds(a, b, out, 3);
    return bestSeconds(a.to(type), b.to(type), out.to(type), 3) / plain;
}

double measureMatmulPeak(std::int64_t n, double seconds, at::ScalarType type) {
    const at::Tensor a = at::randn({n, n}).to(type);
    const at::Tensor b = at::randn({n, n}).to(type);
    const at::Tensor out = at::empty({n, n}, type);
    const std::int64_t end = control::now() + static_cast<std::int64_t>(seconds * 1e9);
    double best = bestSeconds(a, b, out, 2);
    while (control::now() < end) best = std::min(best, bestSeconds(a, b, out, 1));
    const auto size = static_cast<double>(n);
    return 2.0 * size * size * size / best;
}

}  // namespace shardscope::kernels
