#include "engine/kernels/embedding.h"

#include "engine/kernels/device_kernels.h"
#include "engine/kernels/operator_scope.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/embedding_dense_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

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

void addRow(const float* from, float* to, std::int64_t n) {
    for (std::int64_t c = 0; c < n; ++c) to[c] += from[c];
}

/// Of the tokens in [firstRow, firstRow + rows): calls visit(position in `tokens`, row).
template <class Visit>
void forEachIn(const at::Tensor& tokens, std::int64_t firstRow, std::int64_t rows,
               const Visit& visit) {
    const std::int64_t* ids = tokens.const_data_ptr<std::int64_t>();
    for (std::int64_t n = 0; n < tokens.numel(); ++n) {
        const std::int64_t row = ids[n] - firstRow;
        if (row >= 0 && row < rows) visit(n, row);
    }
}

DeviceEmbedding deviceEmbedding(const at::Tensor& tokens, std::int64_t firstRow,
                                const at::Tensor& table, at::ScalarType type) {
    return {dataTypeOf(type), tokens.numel(), table.size(1),
            firstRow,         table.size(0),  tokens.const_data_ptr<std::int64_t>()};
}

/// x (N, C) from rows and positions, or adds the rows to x.
void embedOnDevice(const at::Tensor& table, std::int64_t firstRow, const at::Tensor& positions,
                   const at::Tensor& tokens, const at::Tensor& x, bool add) {
    deviceKernels()->embed(deviceEmbedding(tokens, firstRow, table, table.scalar_type()),
                           table.const_data_ptr(),
                           positions.defined() ? positions.const_data_ptr() : nullptr,
                           tokens.size(1), x.mutable_data_ptr(), add, nativeStream(table.device()));
}

/// Of a contiguous dx on the host.
void addPositionGradients(const at::Tensor& tokens, const at::Tensor& dx,
                          const at::Tensor& positionGradient) {
    const std::int64_t hidden = dx.size(1);
    if (onHostInFp32(dx) && onHostInFp32(positionGradient)) {
        for (std::int64_t n = 0; n < tokens.numel(); ++n)
            addRow(dx.const_data_ptr<float>() + n * hidden,
                   positionGradient.mutable_data_ptr<float>() + n % tokens.size(1) * hidden,
                   hidden);
        return;
    }
    const at::Tensor byPosition = dx.view({tokens.size(0), tokens.size(1), hidden});
    positionGradient.narrow(0, 0, tokens.size(1)).add_(at::sum(byPosition, {0}, false, at::kFloat));
}

void addGradientsOnDevice(const at::Tensor& tokens, std::int64_t firstRow, const at::Tensor& dx,
                          const at::Tensor& tokenGradient, const at::Tensor& positionGradient) {
    DeviceEmbeddingGradients gradients;
    gradients.dx = dx.const_data_ptr();
    gradients.gradientType = dataTypeOf(tokenGradient.scalar_type());
    gradients.table = tokenGradient.mutable_data_ptr();
    if (positionGradient.defined()) gradients.positions = positionGradient.mutable_data_ptr();
    gradients.context = tokens.size(1);
    deviceKernels()->addEmbeddingGradients(
        deviceEmbedding(tokens, firstRow, tokenGradient, dx.scalar_type()), gradients,
        nativeStream(dx.device()));
}

}  // namespace

at::Tensor embed(const at::Tensor& tokenTable, const at::Tensor& positionTable,
                 const at::Tensor& tokens) {
    if (onHostInFp32(tokenTable)) return embedOnHost(tokenTable, positionTable, tokens);
    if (tokenTable.is_cuda()) {
        at::Tensor x = at::empty({tokens.numel(), tokenTable.size(1)}, tokenTable.options());
        embedOnDevice(tokenTable, 0, positionTable, tokens, x, false);
        return x;
    }
    at::Tensor x = at::embedding(tokenTable, tokens);  // (B, T, C)
    if (positionTable.defined()) x.add_(positionTable.narrow(0, 0, tokens.size(1)));
    return x.view({tokens.numel(), tokenTable.size(1)});
}

at::Tensor positionsOf(const at::Tensor& positionTable, const at::Tensor& tokens,
                       std::int64_t hidden, const at::TensorOptions& options) {
    if (!positionTable.defined()) return at::zeros({tokens.numel(), hidden}, options);
    const at::Tensor x = at::empty({tokens.size(0), tokens.size(1), hidden}, options);
    x.copy_(positionTable.narrow(0, 0, tokens.size(1)).expand(x.sizes()));
    return x.view({tokens.numel(), hidden});
}

void addRows(const at::Tensor& table, std::int64_t firstRow, const at::Tensor& tokens,
             const at::Tensor& x) {
    const std::int64_t hidden = table.size(1);
    if (table.is_cuda()) return embedOnDevice(table, firstRow, {}, tokens, x, true);
    if (onHostInFp32(table)) {
        forEachIn(tokens, firstRow, table.size(0), [&](std::int64_t n, std::int64_t row) {
            addRow(table.const_data_ptr<float>() + row * hidden,
                   x.mutable_data_ptr<float>() + n * hidden, hidden);
        });
        return;
    }
    const at::Tensor rows = tokens.flatten().sub(firstRow);
    const at::Tensor outside = rows.lt(0).logical_or_(rows.ge(table.size(0)));
    const at::Tensor found = at::embedding(table, rows.clamp(0, table.size(0) - 1));
    x.add_(found.masked_fill_(outside.unsqueeze(1), 0));
}

void addGradients(const at::Tensor& tokens, std::int64_t firstRow, const at::Tensor& dx,
                  const at::Tensor& tokenGradient, const at::Tensor& positionGradient) {
    const at::Tensor gradient = dx.contiguous();
    if (gradient.is_cuda())
        return addGradientsOnDevice(tokens, firstRow, gradient, tokenGradient, positionGradient);
    if (positionGradient.defined()) addPositionGradients(tokens, gradient, positionGradient);
    const std::int64_t vocabulary = tokenGradient.size(0), hidden = tokenGradient.size(1);
    if (onHostInFp32(gradient) && onHostInFp32(tokenGradient)) {
        forEachIn(tokens, firstRow, vocabulary, [&](std::int64_t n, std::int64_t row) {
            addRow(gradient.const_data_ptr<float>() + n * hidden,
                   tokenGradient.mutable_data_ptr<float>() + row * hidden, hidden);
        });
        return;
    }
    // Repeated tokens are summed in fp32 whatever dx is, unlike by index_add_ in half precision.
    // A row of its own takes the tokens of other pieces.
    const at::Tensor rows = tokens.flatten().sub(firstRow);
    const at::Tensor outside = rows.lt(0).logical_or_(rows.ge(vocabulary));
    tokenGradient.add_(at::embedding_dense_backward(gradient.to(at::kFloat),
                                                    rows.masked_fill(outside, vocabulary),
                                                    vocabulary + 1, vocabulary, false)
                           .narrow(0, 0, vocabulary));
}

}  // namespace shardscope::kernels
