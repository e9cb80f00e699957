// Softmax over rows of scores or logits with what surrounds it in one pass, fp32 in plain memory,
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardscope::kernels {

/// scores (n, T, T), in place: row i becomes softmax(scale * row) over its first i + 1 columns and
/// zero in the others.
void causalSoftmax(float* scores, std::int64_t n, std::int64_t context, float scale);

/// The gradient of that by the scores before `scale`: p (n, T, T) is its result, d holds the
/// gradient of p and receives scale * p (d - sum p d), zero above the diagonal.
void causalSoftmaxBackward(const float* p, float* d, std::int64_t n, std::int64_t context,
                           float scale);

/// One row of logits. Returns -log softmax(row)[target]; with `gradient` the row becomes
/// scale * (softmax - onehot), otherwise it is left undefined.
[[nodiscard]] double softmaxCrossEntropy(float* row, std::size_t width, std::size_t target,
                                         float scale, bool gradient);

/// What a row of logits adds up to over pieces of its columns: the largest so far, the sum of
/// exp(logit - largest), and the target's logit (online softmax: Milakov and Gimelshein, arXiv
/// 1805.02867).
struct RowStatistics {
    float largest, sum, wanted;
};
static_assert(sizeof(RowStatistics) == 3 * sizeof(float));  // rows of an (N, 3) tensor

/// Takes a piece of the row in; `row` becomes exp(logit - statistics.largest). `target` counts from
/// its first column and may lie outside.
void addToStatistics(float* row, std::int64_t width, std::int64_t target,
                     RowStatistics& statistics);
/// The piece becomes its part of scale * (softmax - onehot).
void softmaxGradient(float* row, std::int64_t width, std::int64_t target,
                     const RowStatistics& statistics, float scale);
/// The same from what addToStatistics() left of the piece, when the largest was `own`.
void softmaxGradientOfExponentials(float* row, std::int64_t width, std::int64_t target,
                                   const RowStatistics& statistics, float own, float scale);

}  // namespace shardscope::kernels
