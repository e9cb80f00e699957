#include "engine/kernels/matmul.h"

#include "engine/control/observer.h"
#include "engine/kernels/onednn.h"
#include "engine/kernels/widened_product.h"
#include "storage/model/host_clock.h"

#include <ATen/Parallel.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>

namespace shardscope::kernels {
namespace {

constexpr int kProbeRounds = 5;

// Set before the first step, then constant.
MatmulLibrary g_library = MatmulLibrary::kMkl;
NarrowProducts g_narrow = NarrowProducts::kNative;

double bestSeconds(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out, int repeats) {
    std::int64_t best = INT64_MAX;
    for (int i = 0; i < repeats; ++i) {
        const std::int64_t start = hostNow();
        matmul(a, b, out);
        best = std::min(best, hostNow() - start);
    }
    return static_cast<double>(best) * 1e-9;
}

/// How the last two dims of a tensor lie in memory: rows one after the other, or columns.
struct Layout {
    char transposed = 'N';
    std::int64_t distance = 0;  ///< of two rows, or columns, as stored
};

std::optional<Layout> layoutOf(const at::Tensor& t) {
    const std::int64_t rows = t.size(-2), columns = t.size(-1);
    const std::int64_t down = t.stride(-2), right = t.stride(-1);
    if (right == 1 && (down >= columns || rows == 1)) return Layout{'N', std::max(down, columns)};
    if (down == 1 && (right >= rows || columns == 1)) return Layout{'T', std::max(right, rows)};
    return std::nullopt;
}

/// The product as oneDNN takes it; nothing where the other library has to do it.
std::optional<Sgemm> sgemmOf(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out,
                             bool accumulate) {
    if (g_library != MatmulLibrary::kOneDnn || !out.is_cpu() || out.scalar_type() != at::kFloat)
        return std::nullopt;
    const auto left = layoutOf(a), right = layoutOf(b), result = layoutOf(out);
    if (!left || !right || !result || result->transposed != 'N' || out.numel() == 0 ||
        a.numel() == 0)
        return std::nullopt;
    return Sgemm{left->transposed, right->transposed, out.size(-2),
                 out.size(-1),     a.size(-1),        left->distance,
                 right->distance,  result->distance,  accumulate ? 1.0F : 0.0F};
}

void matmulByLibTorch(const at::Tensor& a, const at::Tensor& b, at::Tensor out, bool accumulate) {
    if (accumulate) {
        at::addmm_out(out, out, a, b);
    } else {
        at::mm_out(out, a, b);
    }
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

void useMatmulLibrary(MatmulLibrary library) {
    g_library = oneDnnIsThere() ? library : MatmulLibrary::kMkl;
}

MatmulLibrary matmulLibraryInUse() {
    return g_library;
}

void useNarrowProducts(NarrowProducts way) {
    g_narrow = way;
}

void matmul(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out, bool accumulate) {
    if (g_narrow == NarrowProducts::kWidened && a.is_cpu() && a.scalar_type() != at::kFloat)
        return widenedProduct(a, b, out, accumulate);
    if (out.scalar_type() != a.scalar_type()) return widenedMatmul(a, b, out, accumulate);
    const auto sgemm = sgemmOf(a, b, out, accumulate);
    if (sgemm && sgemm->run(a.const_data_ptr<float>(), b.const_data_ptr<float>(),
                            out.mutable_data_ptr<float>()))
        return;
    matmulByLibTorch(a, b, out, accumulate);
}

void batchedMatmul(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out) {
    const auto sgemm = sgemmOf(a, b, out, false);
    at::Tensor result = out;
    if (!sgemm) {
        at::bmm_out(result, a, b);
        return;
    }
    const float *left = a.const_data_ptr<float>(), *right = b.const_data_ptr<float>();
    float* const made = out.mutable_data_ptr<float>();
    std::atomic<bool> done = true;
    // One product a thread: each is too small to be shared.
    at::parallel_for(0, out.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            if (!sgemm->run(left + i * a.stride(0), right + i * b.stride(0),
                            made + i * out.stride(0)))
                done = false;
    });
    if (!done) at::bmm_out(result, a, b);
}

MatmulLibrary fasterMatmulLibrary(std::int64_t tokens, std::int64_t hidden) {
    if (!oneDnnIsThere()) return MatmulLibrary::kMkl;
    const at::Tensor a = at::randn({std::min<std::int64_t>(tokens, 1024), hidden});
    const at::Tensor b = at::randn({hidden, 4 * hidden});
    const at::Tensor out = at::empty({a.size(0), 4 * hidden});
    const MatmulLibrary before = g_library;
    double seconds[2] = {INFINITY, INFINITY};
    // In turn, so that what else the machine does meets both.
    for (int round = 0; round < kProbeRounds; ++round) {
        for (MatmulLibrary library : {MatmulLibrary::kMkl, MatmulLibrary::kOneDnn}) {
            useMatmulLibrary(library);
            double& best = seconds[static_cast<int>(library)];
            best = std::min(best, bestSeconds(a, b, out, 1));
        }
    }
    useMatmulLibrary(before);
    return seconds[1] < seconds[0] ? MatmulLibrary::kOneDnn : MatmulLibrary::kMkl;
}

Slowdown slowdownOf(at::ScalarType type, std::int64_t tokens, std::int64_t hidden) {
    const at::Tensor a = at::randn({std::min<std::int64_t>(tokens, 256), hidden});
    const at::Tensor b = at::randn({hidden, 4 * hidden});
    const at::Tensor out = at::empty({a.size(0), 4 * hidden});
    const at::Tensor narrowA = a.to(type), narrowB = b.to(type), narrowOut = out.to(type);
    const double plain = bestSeconds(a, b, out, 3);
    const NarrowProducts before = g_narrow;
    const auto slowdown = [&](NarrowProducts way) {
        useNarrowProducts(way);
        return bestSeconds(narrowA, narrowB, narrowOut, 3) / plain;
    };
    const Slowdown found{slowdown(NarrowProducts::kNative), slowdown(NarrowProducts::kWidened)};
    useNarrowProducts(before);
    return found;
}

MatmulBurst::MatmulBurst(std::int64_t n, at::ScalarType type)
    : m_a(at::randn({n, n}).to(type)),
      m_b(at::randn({n, n}).to(type)),
      m_out(at::empty({n, n}, type)) {}

double MatmulBurst::run() const {
    const auto n = static_cast<double>(m_out.size(0));
    return 2.0 * n * n * n / bestSeconds(m_a, m_b, m_out, 1);
}

}  // namespace shardscope::kernels
