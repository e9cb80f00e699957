#include "engine/kernels/embedding.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/embedding_dense_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>

#include <algorithm>

namespace shardscope::kernels {
namespace {

bool onHostInFp32(const at::Tensor& t) {
    return t.is_cpu() && t.scalar_type() == at::kFloat;
}

at::Tensor embedOnHost(const at::Tensor& tokenTable, const at::Tensor& positionTable,
                       const at::Tensor& tokens) {
    const std::int64_t hidden = tokenTable.size(1);
    at::Tensor x = at::empty({tokens.numel(), hidden});
    const float* wte = tokenTable.const_data_ptr<float>();
    const float* wpe = positionTable.defined() ? positionTable.const_data_ptr<float>() : nullptr;
    const std::int64_t* ids = tokens.const_data_ptr<std::int64_t>();
    float* out = x.mutable_data_ptr<float>();
    for (std::int64_t n = 0; n < tokens.numel(); ++n) {
        const float* token = wte + ids[n] * hidden;
        if (wpe == nullptr) {
            std::copy_n(token, hidden, out + n * hidden);
            continue;
        }
        const float* position = wpe + n % tokens.size(1) * hidden;
        for (std::int64_t c = 0; c < hidden; ++c) out[n * hidden + c] = token[c] + position[c];
    }
    return x;
}

void addOnHost(const at::Tensor& tokens, const at::Tensor& dx, const at::Tensor& tokenGradient,
               const at::Tensor& positionGradient) {
    const std::int64_t hidden = dx.size(1);
    float* wte = tokenGradient.mutable_data_ptr<float>();
    float* wpe = positionGradient.defined() ? positionGradient.mutable_data_ptr<float>() : nullptr;
    const std::int64_t* ids = tokens.const_data_ptr<std::int64_t>();
    const float* in = dx.const_data_ptr<float>();
    for (std::int64_t n = 0; n < tokens.numel(); ++n) {
        float* token = wte + ids[n] * hidden;
        for (std::int64_t c = 0; c < hidden; ++c) token[c] += in[n * hidden + c];
        if (wpe == nullptr) continue;
        float* position = wpe + n % tokens.size(1) * hidden;
        for (std::int64_t c = 0; c < hidden; ++c) position[c] += in[n * hidden + c];
    }
}

/// A GPU's kernel sums in fp32 inside; the CPU's in the type that it is given.
at::Tensor widened(const at::Tensor& gradient) {
    return gradient.is_cpu() ? gradient.to(at::kFloat) : gradient;
}

}  // namespace

at::Tensor embed(const at::Tensor& tokenTable, const at::Tensor& positionTable,
                 const at::Tensor& tokens) {
    if (onHostInFp32(tokenTable)) return embedOnHost(tokenTable, positionTable, tokens);
    at::Tensor x = at::embedding(tokenTable, tokens);  // (B, T, C)
    if (positionTable.defined()) x.add_(positionTable.narrow(0, 0, tokens.size(1)));
    return x.view({tokens.numel(), tokenTable.size(1)});
}

void addEmbeddingGradients(const at::Tensor& tokens, const at::Tensor& dx,
                           const at::Tensor& tokenGradient, const at::Tensor& positionGradient) {
    const at::Tensor gradient = dx.contiguous();
    if (onHostInFp32(gradient) && onHostInFp32(tokenGradient)) {
        addOnHost(tokens, gradient, tokenGradient, positionGradient);
        return;
    }
    // Repeated tokens are summed in fp32 whatever dx is, unlike by index_add_ in half precision.
    tokenGradient.add_(at::embedding_dense_backward(widened(gradient), tokens.flatten(),
                                                    tokenGradient.size(0), -1, false));
    if (!positionGradient.defined()) return;
    const at::Tensor byPosition = gradient.view({tokens.size(0), tokens.size(1), gradient.size(1)});
    positionGradient.narrow(0, 0, tokens.size(1)).add_(at::sum(byPosition, {0}, false, at::kFloat));
}

}  // namespace shardscope::kernels
