#include "engine/kernels/matmul.h"

#include "engine/control/observer.h"
#include "storage/model/host_clock.h"

#include <ATen/Parallel.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>

namespace shardscope::kernels {
namespace {

/// One fp32 matrix product, row-major: c = op(a) op(b) + beta c, with op the transpose where the
/// word is 'T' and nothing where it is 'N'. c is m x n, k the summed extent; lda, ldb and ldc are
/// the distances of rows as stored. Uses the calling thread's OpenMP threads; inside a parallel
/// region one. Any thread.
struct Sgemm {
    char transposeA = 'N', transposeB = 'N';
    std::int64_t m = 0, n = 0, k = 0;
    std::int64_t lda = 0, ldb = 0, ldc = 0;
    float beta = 0;

    /// False when oneDNN cannot do it; c is then as it was. Only where oneDnn() is there.
    [[nodiscard]] bool run(const float* a, const float* b, float* c) const;
};

bool multiplies(decltype(&dnnl_sgemm) sgemm) {
    const std::array<float, 4> a{1, 2, 3, 4}, b{5, 6, 7, 8}, right{19, 22, 43, 50};
    std::array<float, 4> c{};
    const auto status = sgemm('N', 'N', 2, 2, 2, 1.0F, a.data(), 2, b.data(), 2, 0.0F, c.data(), 2);
    return status == dnnl_success && c == right;
}

decltype(&dnnl_sgemm) load() {
    void* const handle = ::dlopen("libdnnl.so.3", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return nullptr;
    const auto sgemm = reinterpret_cast<decltype(&dnnl_sgemm)>(::dlsym(handle, "dnnl_sgemm"));
    return sgemm != nullptr && multiplies(sgemm) ? sgemm : nullptr;
}

/// oneDNN's fp32 product, out of a release of oneDNN itself; null: libdnnl.so.3 was not found, or a
/// small product by it is wrong. Loads it at the first call.
///
/// LibTorch carries a oneDNN too, but none of its public operators multiplies fp32 matrices of a
/// CPU by it into memory that is already there, and what it calls inside refuses every CPU without
/// AVX-512. The release's `dnnl_sgemm` (dnnl.h; its type has not changed since version 1) runs on
/// all of them. It is loaded at run time, so that a machine without the library still trains, by
/// MKL.
decltype(&dnnl_sgemm) oneDnn() {
    static decltype(&dnnl_sgemm) const loaded = load();
    return loaded;
}

bool Sgemm::run(const float* a, const float* b, float* c) const {
    return oneDnn()(transposeA, transposeB, m, n, k, 1.0F, a, lda, b, ldb, beta, c, ldc) ==
           dnnl_success;
}

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

/// Large enough that widening, which reads every block again for each that it meets, is a few
/// percent of the product; small enough for a second-level cache.
constexpr std::int64_t kRows = 256, kInner = 512, kColumns = 512;

/// fp32 blocks of the three matrices.
class Workspace {
public:
    at::Tensor left(std::int64_t m, std::int64_t k) { return block(0, m, k); }
    at::Tensor right(std::int64_t k, std::int64_t n) { return block(kRows * kInner, k, n); }
    at::Tensor result(std::int64_t m, std::int64_t n) {
        return block(kRows * kInner + kInner * kColumns, m, n);
    }

private:
    at::Tensor block(std::int64_t offset, std::int64_t rows, std::int64_t columns) {
        return at::from_blob(m_floats.get() + offset, {rows, columns});
    }
    static constexpr std::size_t kFloats = kRows * kInner + kInner * kColumns + kRows * kColumns;
    std::unique_ptr<float[]> m_floats = std::make_unique<float[]>(kFloats);
};

/// A part of `t` in fp32. One that is stored by columns is copied so, and handed on transposed:
/// a product takes either.
at::Tensor widened(const at::Tensor& t, at::Tensor (Workspace::*place)(std::int64_t, std::int64_t),
                   Workspace& workspace) {
    const bool byColumns = t.stride(0) == 1 && t.stride(1) != 1;
    const at::Tensor source = byColumns ? t.t() : t;
    at::Tensor wide = (workspace.*place)(source.size(0), source.size(1));
    wide.copy_(source);
    return byColumns ? wide.t() : wide;
}

void put(const at::Tensor& product, const at::Tensor& out, bool accumulate) {
    accumulate ? out.add_(product) : out.copy_(product);
}

}  // namespace

void useMatmulLibrary(MatmulLibrary library) {
    g_library = oneDnn() != nullptr ? library : MatmulLibrary::kMkl;
}

MatmulLibrary matmulLibraryInUse() {
    return g_library;
}

void useNarrowProducts(NarrowProducts way) {
    g_narrow = way;
}

NarrowProducts narrowProductsInUse() {
    return g_narrow;
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

double oneDnnOverMkl(std::int64_t tokens, std::int64_t hidden) {
    if (oneDnn() == nullptr) return INFINITY;
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
    return seconds[1] / seconds[0];
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

void widenedProduct(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out,
                    bool accumulate) {
    thread_local Workspace workspace;
    const std::int64_t m = out.size(0), n = out.size(1), k = a.size(1);
    for (std::int64_t row = 0; row < m; row += kRows) {
        const std::int64_t rows = std::min(kRows, m - row);
        for (std::int64_t column = 0; column < n; column += kColumns) {
            const std::int64_t columns = std::min(kColumns, n - column);
            const at::Tensor sum = workspace.result(rows, columns);
            for (std::int64_t inner = 0; inner < k; inner += kInner) {
                const std::int64_t depth = std::min(kInner, k - inner);
                matmul(widened(a.narrow(0, row, rows).narrow(1, inner, depth), &Workspace::left,
                               workspace),
                       widened(b.narrow(0, inner, depth).narrow(1, column, columns),
                               &Workspace::right, workspace),
                       sum, inner > 0);
            }
            put(sum, out.narrow(0, row, rows).narrow(1, column, columns), accumulate);
        }
    }
}

}  // namespace shardscope::kernels
