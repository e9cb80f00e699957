// The fused operators against LibTorch's own for the same work, forward and backward, on one
// thread: kernels_bench. Sizes: shakespeare's 1,024 tokens, C 384, and those of `small` at batch 4.
#include "engine/kernels/attention.h"
#include "engine/kernels/cross_entropy.h"
#include "engine/kernels/feed_forward.h"
#include "engine/kernels/heads.h"
#include "engine/kernels/matmul.h"
#include "engine/kernels/norm.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <torch/csrc/autograd/autograd.h>

namespace {

using namespace shardscope::kernels;

Parameter parameterOf(const at::Tensor& value) {
    Parameter parameter;
    parameter.shape = value.sizes().vec();
    parameter.value = value;
    parameter.gradient = at::zeros_like(value);
    return parameter;
}

at::Tensor leaf(const at::Tensor& t) {
    return t.detach().set_requires_grad(true);
}

std::int64_t rowsOf(const benchmark::State& state) {
    return state.range(0);
}
std::int64_t widthOf(const benchmark::State& state) {
    return state.range(1);
}

void fusedGelu(benchmark::State& state) {
    const at::Tensor x = at::randn({rowsOf(state), 4 * widthOf(state)}), d = at::randn_like(x);
    const at::Tensor y = at::empty_like(x);
    const auto n = static_cast<std::size_t>(x.numel());
    for (auto _ : state) {
        gelu(x.const_data_ptr<float>(), y.mutable_data_ptr<float>(), n);
        geluBackward(x.const_data_ptr<float>(), y.mutable_data_ptr<float>(),
                     d.mutable_data_ptr<float>(), n);
    }
}
void plainGelu(benchmark::State& state) {
    const at::Tensor x = at::randn({rowsOf(state), 4 * widthOf(state)}), d = at::randn_like(x);
    at::Tensor y = at::empty_like(x), dx = at::empty_like(x);
    for (auto _ : state) {
        at::gelu_out(y, x);
        at::gelu_backward_out(dx, d, x);
    }
}

void fusedSwiglu(benchmark::State& state) {
    const at::Tensor x = at::randn({rowsOf(state), 4 * widthOf(state)}), g = at::randn_like(x);
    const at::Tensor y = at::empty_like(x), d = at::randn_like(x), dGate = at::empty_like(x);
    const auto n = static_cast<std::size_t>(x.numel());
    for (auto _ : state) {
        siluGate(g.const_data_ptr<float>(), x.const_data_ptr<float>(), y.mutable_data_ptr<float>(),
                 n);
        siluGateBackward(g.const_data_ptr<float>(), x.const_data_ptr<float>(),
                         y.mutable_data_ptr<float>(), d.mutable_data_ptr<float>(),
                         dGate.mutable_data_ptr<float>(), n);
    }
}
void plainSwiglu(benchmark::State& state) {
    const at::Tensor x = at::randn({rowsOf(state), 4 * widthOf(state)}), g = at::randn_like(x);
    at::Tensor silu = at::empty_like(x), y = at::empty_like(x), d = at::randn_like(x);
    at::Tensor dSilu = at::empty_like(x), dGate = at::empty_like(x), dx = at::empty_like(x);
    for (auto _ : state) {
        at::silu_out(silu, g);
        at::mul_out(y, silu, x);
        at::mul_out(dx, d, silu);
        at::mul_out(dSilu, d, x);
        at::silu_backward_out(dGate, dSilu, g);
    }
}

template <bool kLayerNorm>
void fusedNorm(benchmark::State& state) {
    const at::Tensor x = at::randn({rowsOf(state), widthOf(state)}), delta = at::randn_like(x);
    const at::Tensor up = at::randn_like(x), skip = at::randn_like(x);
    Parameter weight = parameterOf(at::ones({widthOf(state)}));
    Parameter bias = parameterOf(at::zeros({widthOf(state)}));
    const Norm norm{&weight, kLayerNorm ? &bias : nullptr};
    for (auto _ : state) {
        const NormState made = normForward(x, delta, norm);
        benchmark::DoNotOptimize(normBackward(up, skip, made, norm));
    }
}
template <bool kLayerNorm>
void plainNorm(benchmark::State& state) {
    const std::int64_t width = widthOf(state);
    const at::Tensor x = at::randn({rowsOf(state), width}), delta = at::randn_like(x);
    const at::Tensor up = at::randn_like(x), skip = at::randn_like(x);
    const at::Tensor weight = leaf(at::ones({width})), bias = leaf(at::zeros({width}));
    for (auto _ : state) {
        const at::Tensor stream = leaf(at::add(x, delta));
        const at::Tensor y = kLayerNorm ? at::layer_norm(stream, {width}, weight, bias, 1e-5)
                                        : at::rms_norm(stream, {width}, weight, 1e-5);
        torch::autograd::backward({y}, {up});
        benchmark::DoNotOptimize(at::add(stream.grad(), skip));
    }
}

void fusedHeads(benchmark::State& state) {
    const at::Tensor qkv = at::randn({rowsOf(state), 3 * widthOf(state)});
    const std::int64_t heads = widthOf(state) / 64;
    const at::Tensor rotary = rotaryTable(128, 64);
    for (auto _ : state) {
        const at::Tensor out = unpackHeads(qkv, rowsOf(state) / 128, heads, rotary);
        benchmark::DoNotOptimize(packHeads(out[0], out[1], out[2], rotary));
    }
}
void plainHeads(benchmark::State& state) {
    const at::Tensor qkv = at::randn({rowsOf(state), 3 * widthOf(state)});
    const std::int64_t heads = widthOf(state) / 64, rows = rowsOf(state) / 128;
    const at::Tensor rotary = rotaryTable(128, 64);
    for (auto _ : state) {
        const at::Tensor out =
            qkv.view({rows, 128, 3, heads, 64}).permute({2, 0, 3, 1, 4}).contiguous();
        const at::Tensor q = rotated(out[0], rotary), k = rotated(out[1], rotary);
        at::Tensor packed = at::empty({rows, 128, 3, heads, 64});
        const at::Tensor d = packed.permute({2, 0, 3, 1, 4});
        d[0].copy_(rotated(q, rotary, true));
        d[1].copy_(rotated(k, rotary, true));
        d[2].copy_(out[2]);
        benchmark::DoNotOptimize(packed);
    }
}

void headChunk(benchmark::State& state, bool fused) {
    const std::int64_t vocabulary = state.range(2);
    const at::Tensor x = at::randn({rowsOf(state), widthOf(state)});
    Parameter weight = parameterOf(at::randn({vocabulary, widthOf(state)}) * 0.02);
    const at::Tensor targets = at::randint(0, vocabulary, {rowsOf(state)}, at::kLong);
    const at::Tensor dx = at::empty_like(x), loss = at::zeros({}, at::kDouble);
    for (auto _ : state) {
        if (fused) {
            linearCrossEntropy(x, weight, targets, 1.0, dx, loss);
            continue;
        }
        const at::Tensor logits = at::empty({rowsOf(state), vocabulary});
        matmul(x, weight.value.t(), logits);
        at::Tensor p = at::_log_softmax(logits, 1, false);
        p.exp_().mul_(1.0);
        matmul(p, weight.value, dx);
        matmul(p.t(), x, weight.gradient);
    }
}
void fusedHead(benchmark::State& state) {
    headChunk(state, true);
}
void plainHead(benchmark::State& state) {
    headChunk(state, false);
}

void attention(benchmark::State& state, AttentionKind kind) {
    const at::Tensor qkv = at::randn({rowsOf(state), 3 * widthOf(state)});
    const std::int64_t heads = widthOf(state) / 64;
    useAttention(kind);
    for (auto _ : state) {
        const at::Tensor out = causalAttention(leaf(qkv), rowsOf(state) / 128, heads);
        out.backward(out.detach());
    }
}
void blockedAttention(benchmark::State& state) {
    attention(state, AttentionKind::kBlocked);
}
void flashAttention(benchmark::State& state) {
    attention(state, AttentionKind::kFlash);
}

void sizes(benchmark::internal::Benchmark* b) {
    b->Args({1024, 384})->Args({512, 768})->Unit(benchmark::kMillisecond);
}
void headSizes(benchmark::internal::Benchmark* b) {
    b->Args({1024, 384, 256})->Args({512, 768, 10'000})->Unit(benchmark::kMillisecond);
}
BENCHMARK(fusedGelu)->Apply(sizes);
BENCHMARK(plainGelu)->Apply(sizes);
BENCHMARK(fusedSwiglu)->Apply(sizes);
BENCHMARK(plainSwiglu)->Apply(sizes);
BENCHMARK(fusedNorm<true>)->Apply(sizes);
BENCHMARK(plainNorm<true>)->Apply(sizes);
BENCHMARK(fusedNorm<false>)->Apply(sizes);
BENCHMARK(plainNorm<false>)->Apply(sizes);
BENCHMARK(fusedHeads)->Apply(sizes);
BENCHMARK(plainHeads)->Apply(sizes);
BENCHMARK(blockedAttention)->Apply(sizes);
BENCHMARK(flashAttention)->Apply(sizes);
BENCHMARK(fusedHead)->Apply(headSizes);
BENCHMARK(plainHead)->Apply(headSizes);

}  // namespace

int main(int count, char** words) {
    at::set_num_threads(1);
    useMatmulLibrary(oneDnnOverMkl(1024, 384) < 1 ? MatmulLibrary::kOneDnn : MatmulLibrary::kMkl);
    benchmark::Initialize(&count, words);
    benchmark::RunSpecifiedBenchmarks();
}
