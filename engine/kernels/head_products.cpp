#include "engine/kernels/head_products.h"

#include "engine/kernels/matmul.h"
#include "engine/run/config/model_tensors.h"

namespace shardscope::kernels {
namespace {

/// Columns that are a product of their own, and those behind: 0 where one product takes all.
struct HeadColumns {
    std::int64_t aligned = 0, behind = 0;
};

HeadColumns columnsOf(const at::Tensor& logits) {
    const std::int64_t width = logits.size(1);
    const std::int64_t behind = width % run::kAlignedColumns;
    const bool gaps = logits.stride(0) > width;
    return gaps && behind < width ? HeadColumns{width - behind, behind} : HeadColumns{width, 0};
}

}  // namespace

void productOfLogits(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& logits) {
    const auto [aligned, behind] = columnsOf(logits);
    matmul(x, weight.narrow(0, 0, aligned).t(), logits.narrow(1, 0, aligned));
    if (behind > 0)
        matmul(x, weight.narrow(0, aligned, behind).t(), logits.narrow(1, aligned, behind));
}

void productOfInputs(const at::Tensor& d, const at::Tensor& weight, const at::Tensor& dx,
                     bool accumulate) {
    const auto [aligned, behind] = columnsOf(d);
    // The small part first: it is what is rounded to dx's type once more.
    if (behind > 0)
        matmul(d.narrow(1, aligned, behind), weight.narrow(0, aligned, behind), dx, accumulate);
    matmul(d.narrow(1, 0, aligned), weight.narrow(0, 0, aligned), dx, accumulate || behind > 0);
}

void productOfWeights(const at::Tensor& d, const at::Tensor& x, const at::Tensor& dWeight,
                      bool accumulate) {
    const auto [aligned, behind] = columnsOf(d);
    matmul(d.narrow(1, 0, aligned).t(), x, dWeight.narrow(0, 0, aligned), accumulate);
    if (behind > 0)
        matmul(d.narrow(1, aligned, behind).t(), x, dWeight.narrow(0, aligned, behind), accumulate);
}

}  // namespace shardscope::kernels
