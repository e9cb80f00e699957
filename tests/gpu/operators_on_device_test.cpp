// Operators of the engine that take our kernels on a real device, against the same on the CPU.
#include "engine/kernels/embedding.h"
#include "engine/kernels/feed_forward.h"
#include "engine/kernels/norm.h"
#include "tests/gpu/device_fixture.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

namespace shardscope::worker {
namespace {

class OperatorsOnDevice : public DeviceTest {
protected:
    void SetUp() override {
        DeviceTest::SetUp();
        if (!IsSkipped()) kernels::useDeviceKernels(&kernels());
        at::manual_seed(2);
    }
    void TearDown() override { kernels::useDeviceKernels(nullptr); }
};

/// What a type holds of random numbers, for a CPU that computes with it in fp32.
at::Tensor held(at::IntArrayRef shape, at::ScalarType type) {
    return at::randn(shape).to(type).to(at::kFloat);
}

/// The same on the device, in that type.
at::Tensor narrow(const at::Tensor& host, at::ScalarType type) {
    return onDevice(host.to(type));
}

/// Beside the largest value; in bf16 what is rounded on the way counts as well.
void expectSame(const at::Tensor& found, const at::Tensor& expected, at::ScalarType type,
                const char* what) {
    const at::Tensor wide = expected.to(at::kDouble);
    const double largest = wide.abs().max().item<double>();
    const double apart = (found.cpu().to(at::kDouble) - wide).abs().max().item<double>();
    EXPECT_LT(apart, largest * (type == at::kBFloat16 ? 0x1p-6 : 2e-5)) << what;
}

/// A parameter with a gradient of ones to add to, here and there.
struct Both {
    Both(at::IntArrayRef shape, at::ScalarType type) {
        host.value = held(shape, type);
        host.gradient = at::full(shape, 1, at::kFloat);
        host.accumulate = device.accumulate = true;
        device.value = narrow(host.value, type);
        device.gradient = onDevice(host.gradient);
    }
    void compare(const char* what) const {
        expectSame(device.gradient, host.gradient, device.value.scalar_type(), what);
    }
    kernels::Parameter host, device;
};

TEST_F(OperatorsOnDevice, NormsWithTheStreamAroundThem) {
    for (at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        for (std::int64_t width : {33, 1024, 5000}) {
            for (bool layer : {true, false}) {
                SCOPED_TRACE(::testing::Message() << width << (layer ? ", layer" : ", rms"));
                Both weight({width}, type), bias({width}, type);
                const kernels::Norm host{&weight.host, layer ? &bias.host : nullptr};
                const kernels::Norm device{&weight.device, layer ? &bias.device : nullptr};
                const at::Tensor x = held({700, width}, type), delta = held({700, width}, type);
                const at::Tensor dy = held({700, width}, type);
                const at::Tensor added = narrow(delta, type);
                const at::Tensor copy = narrow(at::zeros({700, width}), type);
                const kernels::NormState expected = kernels::normForward(x, delta, host);
                const kernels::NormState found =
                    kernels::normForward(narrow(x, type), added, device, copy);
                expectSame(found.stream, expected.stream, type, "stream");
                expectSame(copy, expected.stream, type, "copy");
                expectSame(found.value, expected.value, type, "value");
                expectSame(kernels::normBackward(narrow(dy, type), added, found, device),
                           kernels::normBackward(dy, delta, expected, host), type, "dx");
                weight.compare("weight");
                bias.compare("bias");
            }
        }
    }
}

TEST_F(OperatorsOnDevice, FeedForwardWithEitherNonlinearity) {
    for (at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        for (bool gated : {false, true}) {
            SCOPED_TRACE(::testing::Message() << at::toString(type) << (gated ? ", gated" : ""));
            Both gate({96, 40}, type), fc({96, 40}, type), out({40, 96}, type);
            const at::Tensor stream = held({50, 40}, type), x = held({50, 40}, type);
            const at::Tensor dy = held({50, 40}, type);
            const auto run = [&](bool device) {
                const auto place = [&](const at::Tensor& t) {
                    return device ? narrow(t, type) : t;
                };
                const auto of = [&](Both& p) { return device ? &p.device : &p.host; };
                const at::Tensor leaf = place(x).detach().set_requires_grad(true);
                const at::Tensor y = kernels::feedForward(
                    place(stream), leaf, {gated ? of(gate) : nullptr, of(fc), of(out)});
                torch::autograd::backward({y}, {place(dy)});
                return std::pair(y.detach(), leaf.grad());
            };
            const auto expected = run(false), found = run(true);
            expectSame(found.first, expected.first, type, "y");
            expectSame(found.second, expected.second, type, "dx");
            fc.compare("fc");
            out.compare("out");
            gate.compare("gate");
        }
    }
}

TEST_F(OperatorsOnDevice, EmbeddingsAndTheirGradients) {
    for (at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        for (std::int64_t hidden : {33, 1024}) {
            SCOPED_TRACE(::testing::Message() << hidden << ", " << at::toString(type));
            const at::Tensor table = held({300, hidden}, type);
            const at::Tensor positions = held({64, hidden}, type);
            const at::Tensor tokens = at::randint(0, 300, {12, 64}, at::kLong);
            const at::Tensor dx = held({768, hidden}, type);
            const at::Tensor ids = onDevice(tokens);
            expectSame(kernels::embed(narrow(table, type), narrow(positions, type), ids),
                       kernels::embed(table, positions, tokens), type, "embedding");
            const at::Tensor expected = at::randn({200, hidden});
            const at::Tensor found = onDevice(expected);
            kernels::addGradients(tokens, 50, dx, expected);
            kernels::addGradients(ids, 50, narrow(dx, type), found);
            expectSame(found, expected, at::kFloat, "gradient of a piece");
        }
    }
}

}  // namespace
}  // namespace shardscope::worker
