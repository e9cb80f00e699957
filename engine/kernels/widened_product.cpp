#include "engine/kernels/widened_product.h"

#include "engine/kernels/matmul.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <memory>

namespace shardscope::kernels {
namespace {

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
