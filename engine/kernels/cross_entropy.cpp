#include "engine/kernels/cross_entropy.h"

#include "engine/kernels/device_kernels.h"
#include "engine/kernels/matmul.h"
#include "engine/kernels/operator_scope.h"
#include "engine/kernels/softmax.h"
#include "engine/run/config/model_tensors.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/log.h>
#include <ATen/ops/zeros.h>

#include <limits>
#include <numeric>
#include <vector>

namespace shardscope::kernels {
namespace {

/// Sum of -log p[target] over rows of fp32 logits, which become scale * (p - onehot) when
/// `gradient`. Summed row by row in order, whatever the number of threads.
double softmaxLossOnHost(const at::Tensor& logits, const std::int64_t* targets, double scale,
                         bool gradient) {
    const std::int64_t width = logits.size(1);
    float* data = logits.mutable_data_ptr<float>();
    std::vector<double> losses(static_cast<std::size_t>(logits.size(0)));
    at::parallel_for(0, logits.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            losses[static_cast<std::size_t>(i)] = softmaxCrossEntropy(
                data + i * width, static_cast<std::size_t>(width),
                static_cast<std::size_t>(targets[i]), static_cast<float>(scale), gradient);
        }
    });
    return std::accumulate(losses.begin(), losses.end(), 0.0);
}

void softmaxLossOnDevice(const at::Tensor& logits, const at::Tensor& targets, double scale,
                         bool gradient, const at::Tensor& loss) {
    deviceKernels()->softmaxCrossEntropy(
        deviceLogits(logits), targets.const_data_ptr<std::int64_t>(), static_cast<float>(scale),
        gradient, loss.mutable_data_ptr<double>(), nativeStream(logits.device()));
}

/// Logits (n, V) become their gradients (when `gradient`), taken in fp32 and rounded once; adds to
/// `loss`.
void softmaxLoss(const at::Tensor& logits, const at::Tensor& targets, double scale, bool gradient,
                 const at::Tensor& loss) {
    // The device's kernel reads and writes narrow types itself, and computes in fp32 too.
    if (logits.is_cuda()) return softmaxLossOnDevice(logits, targets, scale, gradient, loss);
    const at::Tensor wide = logits.to(at::kFloat);
    note(control::TensorRole::kLogitGradient, wide, "cross entropy, inside");
    *loss.mutable_data_ptr<double>() +=
        softmaxLossOnHost(wide, targets.const_data_ptr<std::int64_t>(), scale, gradient);
    if (gradient && !wide.is_same(logits)) logits.copy_(wide);
}

/// Rows of logits (n, V') of the columns from `firstColumn` on.
struct LogitRows {
    at::Tensor logits;
    at::Tensor targets;     ///< (n)
    at::Tensor statistics;  ///< (n, 3)
    std::int64_t firstColumn = 0;
};

/// Calls visit(row of logits, width, target, statistics) for all rows, fp32 in host memory.
template <class Visit>
void forEachRow(const LogitRows& rows, const at::Tensor& wide, const Visit& visit) {
    const std::int64_t width = wide.size(1);
    float* logits = wide.mutable_data_ptr<float>();
    const std::int64_t* targets = rows.targets.const_data_ptr<std::int64_t>();
    auto* statistics = reinterpret_cast<RowStatistics*>(rows.statistics.mutable_data_ptr<float>());
    at::parallel_for(0, wide.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            visit(logits + i * width, width, targets[i] - rows.firstColumn, statistics[i]);
    });
}

// The device's kernels read and write narrow types themselves, and compute in fp32 too.

void addRows(const LogitRows& rows) {
    const at::Tensor& logits = rows.logits;
    if (logits.is_cuda()) {
        deviceKernels()->softmaxStatistics(
            deviceLogits(logits), rows.firstColumn, rows.targets.const_data_ptr<std::int64_t>(),
            rows.statistics.mutable_data_ptr<float>(), nativeStream(logits.device()));
        return;
    }
    forEachRow(rows, logits.to(at::kFloat),
               [](float* row, std::int64_t width, std::int64_t target, RowStatistics& statistics) {
                   addToStatistics(row, width, target, statistics);
               });
}

void toGradientsOnDevice(const LogitRows& rows, double scale) {
    deviceKernels()->softmaxGradient(deviceLogits(rows.logits), rows.firstColumn,
                                     rows.targets.const_data_ptr<std::int64_t>(),
                                     rows.statistics.const_data_ptr<float>(),
                                     static_cast<float>(scale), nativeStream(rows.logits.device()));
}

/// Logits become their gradients, taken in fp32 and rounded once.
void toGradients(const LogitRows& rows, double scale) {
    if (rows.logits.is_cuda()) return toGradientsOnDevice(rows, scale);
    const at::Tensor wide = rows.logits.to(at::kFloat);
    note(control::TensorRole::kLogitGradient, wide, "cross entropy, inside");
    forEachRow(rows, wide,
               [scale](float* row, std::int64_t width, std::int64_t target,
                       const RowStatistics& statistics) {
                   softmaxGradient(row, width, target, statistics, static_cast<float>(scale));
               });
    if (!wide.is_same(rows.logits)) rows.logits.copy_(wide);
}

/// Logits of this rank's columns become their gradients, with what the group's ranks know of
/// theirs. Their exponentials are taken once.
void toJoinedGradients(const LogitRows& rows, double scale, bool gradient, TensorGroup& group) {
    if (rows.logits.is_cuda()) {
        addRows(rows);
        joinStatistics(rows.statistics, group);
        if (gradient) toGradientsOnDevice(rows, scale);
        return;
    }
    const at::Tensor wide = rows.logits.to(at::kFloat);
    addRows({wide, rows.targets, rows.statistics, rows.firstColumn});
    const at::Tensor own = rows.statistics.select(1, 0).clone();
    joinStatistics(rows.statistics, group);
    if (!gradient) return;
    note(control::TensorRole::kLogitGradient, wide, "cross entropy, inside");
    const float* largest = own.const_data_ptr<float>();
    const auto* first =
        reinterpret_cast<const RowStatistics*>(rows.statistics.const_data_ptr<float>());
    forEachRow(
        rows, wide,
        [=](float* row, std::int64_t width, std::int64_t target, const RowStatistics& statistics) {
            softmaxGradientOfExponentials(row, width, target, statistics,
                                          largest[&statistics - first], static_cast<float>(scale));
        });
    if (!wide.is_same(rows.logits)) rows.logits.copy_(wide);
}

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

void linearCrossEntropy(const at::Tensor& x, Parameter& weight, const at::Tensor& targets,
                        double scale, const at::Tensor& dx, const at::Tensor& loss) {
    const OperatorScope scope("linear_cross_entropy");
    const std::int64_t vocabulary = weight.value.size(0);
    // Several chunks are summed in fp32, whatever the gradient is kept in.
    const bool sumsApart = logitRows(x, vocabulary) < x.size(0) && weight.gradient.defined() &&
                           weight.gradient.scalar_type() != at::kFloat;
    at::Tensor sum = weight.gradient;
    if (sumsApart) sum = at::empty(weight.value.sizes(), x.options().dtype(at::kFloat));
    forEachLogitChunk(x, vocabulary, [&](std::int64_t begin, const auto& part, const auto& logits) {
        productOfLogits(part, weight.value, logits);
        note(control::TensorRole::kLogits, logits, "head");
        softmaxLoss(logits, targets.narrow(0, begin, part.size(0)), scale, dx.defined(), loss);
        if (!dx.defined()) return;
        note(control::TensorRole::kLogitGradient, logits, "cross entropy, to the head's products");
        productOfInputs(logits, weight.value, dx.narrow(0, begin, part.size(0)), false);
        productOfWeights(logits, part, sum, begin > 0 || (weight.accumulate && !sumsApart));
    });
    if (sumsApart && dx.defined()) {
        weight.accumulate ? weight.gradient.add_(sum) : weight.gradient.copy_(sum);
    }
    note(control::TensorRole::kParameter, weight.value, "head");
    note(control::TensorRole::kLoss, loss, "sum of cross entropies");
    if (dx.defined()) note(control::TensorRole::kGradient, weight.gradient, "head");
}

void joinStatistics(const at::Tensor& statistics, TensorGroup& group) {
    const at::Tensor all = group.gatherAll(statistics);  // (T, n, 3)
    const at::Tensor largest = at::amax(all.select(2, 0), {0});
    const at::Tensor sums = all.select(2, 1) * at::exp(all.select(2, 0) - largest);
    statistics.select(1, 0).copy_(largest);
    statistics.select(1, 1).copy_(sums.sum(0));
    statistics.select(1, 2).copy_(all.select(2, 2).sum(0));
}

void dividedCrossEntropy(const at::Tensor& x, Parameter& weight, const at::Tensor& targets,
                         double scale, const at::Tensor& dx, const at::Tensor& loss,
                         TensorGroup& group) {
    const OperatorScope scope("divided_cross_entropy");
    const std::int64_t width = weight.value.size(0);
    const std::int64_t most = (weight.wholeRows + group.size() - 1) / group.size();
    const bool sumsApart = logitRows(x, most) < x.size(0) && weight.gradient.defined() &&
                           weight.gradient.scalar_type() != at::kFloat;
    at::Tensor sum = weight.gradient;
    if (sumsApart) sum = at::empty(weight.value.sizes(), x.options().dtype(at::kFloat));
    const at::Tensor statistics = emptyStatistics(x);
    forEachLogitChunk(
        x, width, most, [&](std::int64_t begin, const auto& part, const auto& logits) {
            const std::int64_t rows = part.size(0);
            productOfLogits(part, weight.value, logits);
            note(control::TensorRole::kLogits, logits, "head");
            toJoinedGradients({logits, targets.narrow(0, begin, rows),
                               statistics.narrow(0, begin, rows), weight.firstRow},
                              scale, dx.defined(), group);
            if (!dx.defined()) return;
            note(control::TensorRole::kLogitGradient, logits,
                 "cross entropy, to the head's products");
            productOfInputs(logits, weight.value, dx.narrow(0, begin, rows), false);
            productOfWeights(logits, part, sum, begin > 0 || (weight.accumulate && !sumsApart));
        });
    if (sumsApart && dx.defined())
        weight.accumulate ? weight.gradient.add_(sum) : weight.gradient.copy_(sum);
    note(control::TensorRole::kParameter, weight.value, "head");
    if (dx.defined()) note(control::TensorRole::kGradient, weight.gradient, "head");
    if (group.rank() == 0) addLoss(statistics, loss);
}

at::Tensor emptyStatistics(const at::Tensor& x) {
    const at::Tensor statistics =
        at::zeros({x.size(0), theory::kRowStatistics}, x.options().dtype(at::kFloat));
    statistics.select(1, 0).fill_(-std::numeric_limits<float>::infinity());
    return statistics;
}

void addPieceStatistics(const at::Tensor& x, Parameter& weight, const at::Tensor& targets,
                        const at::Tensor& statistics) {
    const OperatorScope scope("softmax_statistics");
    note(control::TensorRole::kParameter, weight.value, "head");
    forEachLogitChunk(x, weight.value.size(0),
                      [&](std::int64_t begin, const auto& part, const auto& logits) {
                          productOfLogits(part, weight.value, logits);
                          note(control::TensorRole::kLogits, logits, "head");
                          addRows({logits, targets.narrow(0, begin, part.size(0)),
                                   statistics.narrow(0, begin, part.size(0)), weight.firstRow});
                      });
}

void addLoss(const at::Tensor& statistics, const at::Tensor& loss) {
    const at::Tensor wide = statistics.to(at::kDouble);
    loss.add_(wide.select(1, 1).log().add_(wide.select(1, 0)).sub_(wide.select(1, 2)).sum());
    note(control::TensorRole::kLoss, loss, "sum of cross entropies");
}

void addPieceGradients(const at::Tensor& x, Parameter& weight, const at::Tensor& targets,
                       const at::Tensor& statistics, double scale, const at::Tensor& dx,
                       bool first) {
    const OperatorScope scope("split_cross_entropy");
    const std::int64_t width = weight.value.size(0);
    // Several chunks are summed in fp32, whatever the gradient is kept in.
    const bool sumsApart =
        logitRows(x, width) < x.size(0) && weight.gradient.scalar_type() != at::kFloat;
    at::Tensor sum = weight.gradient;
    if (sumsApart) sum = at::empty(weight.value.sizes(), x.options().dtype(at::kFloat));
    forEachLogitChunk(x, width, [&](std::int64_t begin, const auto& part, const auto& logits) {
        const std::int64_t rows = part.size(0);
        productOfLogits(part, weight.value, logits);
        toGradients({logits, targets.narrow(0, begin, rows), statistics.narrow(0, begin, rows),
                     weight.firstRow},
                    scale);
        note(control::TensorRole::kLogitGradient, logits, "cross entropy, to the head's products");
        productOfInputs(logits, weight.value, dx.narrow(0, begin, rows), !first);
        productOfWeights(logits, part, sum, begin > 0 || (weight.accumulate && !sumsApart));
    });
    if (sumsApart) weight.accumulate ? weight.gradient.add_(sum) : weight.gradient.copy_(sum);
    note(control::TensorRole::kGradient, weight.gradient, "head");
}

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
