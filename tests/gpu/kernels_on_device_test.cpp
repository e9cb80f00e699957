// Our kernels on a real device against their twins on the CPU.
#include "engine/kernels/adamw.h"
#include "engine/kernels/operator_scope.h"
#include "engine/kernels/shard_update.h"
#include "tests/gpu/device_fixture.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace shardscope::worker {
namespace {

constexpr std::array<std::int64_t, 7> kSizes = {0, 1, 31, 33, 1000, 65537, 3000001};

double largestDifference(const at::Tensor& found, const at::Tensor& expected) {
    if (found.numel() == 0) return 0;
    return (found.cpu().to(at::kDouble) - expected.to(at::kDouble)).abs().max().item<double>();
}

std::span<float> span(const at::Tensor& tensor) {
    return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

class KernelsOnDevice : public DeviceTest {
protected:
    KernelsOnDevice() { at::manual_seed(1); }
};

kernels::AdamWStep step(std::int64_t index) {
    kernels::AdamWStep s;
    s.learningRate = 3e-3;
    s.weightDecay = 0.1;
    s.step = index;
    s.gradientScale = 0.7;
    return s;
}

at::Tensor appliedUpdate(std::int64_t index) {
    const at::Tensor values = at::zeros({kernels::kStepUpdateValues}, at::kDouble);
    kernels::StepUpdate* update = kernels::stepUpdateIn(values);
    update->applied = 1;
    update->constants = kernels::adamWConstants(step(index));
    return values;
}

struct Shard {
    explicit Shard(std::int64_t n)
        : p(at::randn({n})), m(at::randn({n}) * 0.1), v(at::rand({n}) * 0.01) {}
    at::Tensor p, m, v;
};

TEST_F(KernelsOnDevice, AdamWStepsAsOnTheCpu) {
    for (std::int64_t n : kSizes) {
        for (std::int64_t shift : {0, 1}) {
            SCOPED_TRACE(::testing::Message() << n << " elements, shift " << shift);
            const std::int64_t decaying = n / 3;
            Shard host(n);
            // `shift` elements off an aligned address.
            const auto shifted = [&](const at::Tensor& t) {
                return onDevice(at::cat({at::zeros({shift}, t.options()), t})).narrow(0, shift, n);
            };
            const at::Tensor p = shifted(host.p), m = shifted(host.m), v = shifted(host.v);
            const at::Tensor cast = shifted(host.p.to(at::kBFloat16));
            for (std::int64_t index = 1; index <= 2; ++index) {
                const at::Tensor gradient = at::randn({n});
                const at::Tensor g = shifted(gradient);
                const at::Tensor update = onDevice(appliedUpdate(index));
                kernels().adamW(kernels::stepUpdateIn(update), n, decaying, p.data_ptr<float>(),
                                g.const_data_ptr<float>(), m.data_ptr<float>(), v.data_ptr<float>(),
                                cast.data_ptr(), stream());
                for (bool decays : {true, false}) {
                    kernels::AdamWStep s = step(index);
                    if (!decays) s.weightDecay = 0;
                    const auto part = [&](const at::Tensor& t) {
                        return span(decays ? t.narrow(0, 0, decaying)
                                           : t.narrow(0, decaying, n - decaying));
                    };
                    kernels::adamW(kernels::adamWConstants(s), part(host.p), part(gradient),
                                   part(host.m), part(host.v));
                }
                // The gradient's memory is handed out again after this.
                synchronize();
            }
            EXPECT_LT(largestDifference(p, host.p), 2e-6);
            EXPECT_LT(largestDifference(m, host.m), 1e-6);
            EXPECT_LT(largestDifference(v, host.v), 1e-6);
            EXPECT_TRUE(at::equal(cast.cpu(), p.cpu().to(at::kBFloat16)));
        }
    }
}

TEST_F(KernelsOnDevice, CrossEntropyEqualsLogSoftmax) {
    constexpr float kScale = 0.125F;
    for (std::int64_t width : {1, 33, 1003, 50257}) {
        for (at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
            SCOPED_TRACE(::testing::Message() << width << " wide, " << at::toString(type));
            const std::int64_t rows = 13;
            const at::Tensor logits = (at::randn({rows, width}) * 4).to(type);
            const at::Tensor targets = at::randint(0, width, {rows}, at::kLong);
            const at::Tensor logP = at::log_softmax(logits.to(at::kDouble), 1);
            const at::Tensor picked = logP.gather(1, targets.unsqueeze(1));
            at::Tensor gradient = logP.exp();
            gradient.scatter_add_(1, targets.unsqueeze(1), -at::ones({rows, 1}, at::kDouble));

            const at::Tensor device = onDevice(logits);
            const at::Tensor wanted = onDevice(targets);
            const at::Tensor loss = onDevice(at::zeros({1}, at::kDouble));
            kernels().softmaxCrossEntropy(
                {kernels::dataTypeOf(type), rows, width, width, device.data_ptr()},
                wanted.const_data_ptr<std::int64_t>(), kScale, true, loss.data_ptr<double>(),
                stream());
            EXPECT_NEAR(loss.item<double>(), -picked.sum().item<double>(), 1e-4);
            EXPECT_LT(largestDifference(device, gradient * static_cast<double>(kScale)),
                      type == at::kFloat ? 1e-6 : 1e-3);
        }
    }
}

/// In pieces of columns: statistics over all of them, then the gradient of each.
TEST_F(KernelsOnDevice, SoftmaxInPiecesEqualsLogSoftmax) {
    constexpr std::int64_t kRows = 13, kWidth = 5003, kPiece = 1700;
    for (at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
        SCOPED_TRACE(at::toString(type));
        const at::Tensor logits = (at::randn({kRows, kWidth}) * 4).to(type);
        const at::Tensor targets = at::randint(0, kWidth, {kRows}, at::kLong);
        at::Tensor expected = at::log_softmax(logits.to(at::kDouble), 1).exp();
        expected.scatter_add_(1, targets.unsqueeze(1), -at::ones({kRows, 1}, at::kDouble));

        const at::Tensor wanted = onDevice(targets);
        at::Tensor empty = at::zeros({kRows, 3});
        empty.select(1, 0).fill_(-std::numeric_limits<float>::infinity());
        const at::Tensor statistics = onDevice(empty);
        std::vector<at::Tensor> pieces;
        for (std::int64_t first = 0; first < kWidth; first += kPiece) {
            const std::int64_t width = std::min(kPiece, kWidth - first);
            pieces.push_back(onDevice(logits.narrow(1, first, width).contiguous()));
            kernels().softmaxStatistics(
                {kernels::dataTypeOf(type), kRows, width, width, pieces.back().data_ptr()}, first,
                wanted.const_data_ptr<std::int64_t>(), statistics.data_ptr<float>(), stream());
        }
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            const std::int64_t first = static_cast<std::int64_t>(i) * kPiece;
            kernels().softmaxGradient({kernels::dataTypeOf(type), kRows, pieces[i].size(1),
                                       pieces[i].size(1), pieces[i].data_ptr()},
                                      first, wanted.const_data_ptr<std::int64_t>(),
                                      statistics.const_data_ptr<float>(), 1, stream());
            EXPECT_LT(largestDifference(pieces[i], expected.narrow(1, first, pieces[i].size(1))),
                      type == at::kFloat ? 1e-6 : 8e-3);
        }
        const at::Tensor found = statistics.cpu().select(1, 2);
        EXPECT_TRUE(
            at::equal(found, logits.gather(1, targets.unsqueeze(1)).squeeze(1).to(at::kFloat)));
    }
}

TEST_F(KernelsOnDevice, AccumulatesEveryTypeExactly) {
    for (std::int64_t n : kSizes) {
        for (at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
            for (bool add : {false, true}) {
                const at::Tensor in = at::randn({n}).to(type);
                const at::Tensor before = at::randn({n});
                const at::Tensor from = onDevice(in);
                const at::Tensor out = onDevice(before);
                kernels().accumulate(from.data_ptr(), kernels::dataTypeOf(type),
                                     out.data_ptr<float>(), n, add, stream());
                const at::Tensor value = in.to(at::kFloat);
                EXPECT_TRUE(at::equal(out.cpu(), add ? before + value : value))
                    << n << " elements of " << at::toString(type);
            }
        }
    }
}

TEST_F(KernelsOnDevice, SumsSquaresInDouble) {
    for (std::int64_t n : kSizes) {
        const at::Tensor values = at::randn({n});
        const at::Tensor device = onDevice(values);
        const at::Tensor sum = onDevice(at::full({1}, 2.5, at::kDouble));
        kernels().sumOfSquares(device.const_data_ptr<float>(), n, sum.data_ptr<double>(), stream());
        const double expected = 2.5 + kernels::sumOfSquares(span(values));
        EXPECT_NEAR(sum.item<double>(), expected, 1e-12 * expected) << n << " elements";
    }
}

}  // namespace
}  // namespace shardscope::worker
