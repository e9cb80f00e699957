// The ranks that share every matrix product of a layer (tensor parallelism: Shoeybi et al., arXiv
// 1909.08053), as operators see them: a layer divided by its outputs takes all rows and leaves
// partial gradients of its inputs, one divided by its inputs leaves partial outputs.
//
// With sequence() what lies between divided layers is divided by rows (Korthikanti et al., arXiv
// 2205.05198): rows are gathered where all are needed, and sums scattered. N rows, n of them on
// this rank: N without sequence(), N / T with it. Lives on the thread that computes.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorOptions.h>

#include <cstdint>
#include <vector>

namespace shardscope::kernels {

class TensorGroup {
public:
    virtual ~TensorGroup() = default;
    [[nodiscard]] virtual int rank() const = 0;
    [[nodiscard]] virtual int size() const = 0;
    [[nodiscard]] virtual bool sequence() const = 0;

    /// Memory (N, columns) for what sum() adds up next.
    [[nodiscard]] virtual at::Tensor partial(std::int64_t rows, std::int64_t columns,
                                             const at::TensorOptions& options) = 0;
    /// The sum over ranks of what partial() gave last: (n, columns). Without sequence() it lies
    /// there, until the next but one partial().
    [[nodiscard]] virtual at::Tensor sum(const at::Tensor& partial) = 0;
    /// x (n, C) of every rank: (N, C); x itself without sequence().
    [[nodiscard]] virtual at::Tensor gather(const at::Tensor& x) = 0;
    /// x of every rank, one behind the other along a new first dim.
    [[nodiscard]] virtual at::Tensor gatherAll(const at::Tensor& x) = 0;

    /// The sums over ranks of a few short tensors, in place.
    virtual void sumInPlace(const std::vector<at::Tensor>& values) = 0;
};

}  // namespace shardscope::kernels
