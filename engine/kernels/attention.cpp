#include "engine/kernels/attention.h"

#include "engine/control/observer.h"
#include "engine/kernels/heads.h"
#include "engine/kernels/matmul.h"
#include "engine/kernels/operator_scope.h"
#include "engine/kernels/softmax.h"
#include "engine/run/theory/working_sizes.h"
#include "storage/model/host_clock.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <tuple>

namespace shardscope::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

AttentionKind g_kind = AttentionKind::kFlash;  // set before the first step, then constant

/// A few heads of (BH, T, D); views are no work worth an event.
at::Tensor some(const at::Tensor& t, std::int64_t begin, std::int64_t count) {
    const at::DisableRecordFunctionGuard bookkeeping;
    return t.narrow(0, begin, count);
}

at::Tensor transposed(const at::Tensor& t) {
    const at::DisableRecordFunctionGuard bookkeeping;
    return t.transpose(1, 2);
}

/// Batched products over heads, a few rows of the batch at a time.
class Blocked {
public:
    explicit Blocked(const at::Tensor& qkv_3BHTD)
        : m_context(qkv_3BHTD.size(3)),
          m_scale(1.0F / std::sqrt(static_cast<float>(qkv_3BHTD.size(4)))),
          m_batches(qkv_3BHTD.size(1) * qkv_3BHTD.size(2)),
          m_q(flat(qkv_3BHTD[0])),
          m_k(flat(qkv_3BHTD[1])),
          m_v(flat(qkv_3BHTD[2])),
          m_step(theory::headsAtATime(m_context, m_batches)) {}

    at::Tensor forward() const {
        const at::Tensor out = at::empty_like(m_q);
        for (std::int64_t at = 0; at < m_batches; at += m_step) {
            const std::int64_t count = std::min(m_step, m_batches - at);
            batchedMatmul(probabilities(at, count), some(m_v, at, count), some(out, at, count));
        }
        return out;
    }

    /// dOut (BH, T, D) -> dq, dk, dv (BH, T, D) into d (3, BH, T, D).
    void backward(const at::Tensor& dOut, const at::Tensor& d) const {
        for (std::int64_t at = 0; at < m_batches; at += m_step) {
            const std::int64_t count = std::min(m_step, m_batches - at);
            const auto part = [&](const at::Tensor& t) { return some(t, at, count); };
            const at::Tensor p = probabilities(at, count);
            batchedMatmul(transposed(p), part(dOut), part(d[2]));
            const at::Tensor dp = at::empty_like(p);
            batchedMatmul(part(dOut), transposed(part(m_v)), dp);
            {
                const OperatorScope scope("causal_softmax_backward");
                forEachMatrix(dp, [&](std::int64_t i, std::int64_t n) {
                    causalSoftmaxBackward(matrices(p, i), matrices(dp, i), n, m_context, m_scale);
                });
            }
            batchedMatmul(dp, part(m_k), part(d[0]));
            batchedMatmul(transposed(dp), part(m_q), part(d[1]));
        }
    }

private:
    at::Tensor flat(const at::Tensor& t_BHTD) const {
        return t_BHTD.view({m_batches, m_context, t_BHTD.size(3)});
    }

    /// softmax(scale q kᵀ) under the causal mask, of `count` heads, (count, T, T)
    at::Tensor probabilities(std::int64_t at, std::int64_t count) const {
        at::Tensor scores = at::empty({count, m_context, m_context}, m_q.options());
        batchedMatmul(some(m_q, at, count), transposed(some(m_k, at, count)), scores);
        const OperatorScope scope("causal_softmax");
        forEachMatrix(scores, [&](std::int64_t i, std::int64_t n) {
            causalSoftmax(matrices(scores, i), n, m_context, m_scale);
        });
        return scores;
    }

    float* matrices(const at::Tensor& t, std::int64_t begin) const {
        return t.mutable_data_ptr<float>() + begin * m_context * m_context;
    }

    template <class Work>
    void forEachMatrix(const at::Tensor& t, const Work& work) const {
        at::parallel_for(0, t.size(0), 1,
                         [&](std::int64_t begin, std::int64_t end) { work(begin, end - begin); });
    }

    std::int64_t m_context;
    float m_scale;
    std::int64_t m_batches;
    at::Tensor m_q, m_k, m_v;  // (BH, T, D)
    std::int64_t m_step;
};

struct CausalAttention : torch::autograd::Function<CausalAttention> {
    static Variable forward(AutogradContext* context, const Variable& qkv, std::int64_t rows,
                            std::int64_t heads, const std::optional<at::Tensor>& turned) {
        const at::Tensor rotary = turned.value_or(at::Tensor());
        context->saved_data["rotary"] = turned;
        const at::Tensor qkv_3BHTD = unpackHeads(qkv, rows, heads, rotary);
        note(control::TensorRole::kQueryKeyValue, qkv_3BHTD, "attention");
        if (g_kind == AttentionKind::kFlash || qkv.scalar_type() != at::kFloat) {
            auto [out, logSumExp] = at::_scaled_dot_product_flash_attention_for_cpu(
                qkv_3BHTD[0], qkv_3BHTD[1], qkv_3BHTD[2], 0.0, true);
            context->save_for_backward({qkv_3BHTD, out, logSumExp});
            return mergeHeads(out);
        }
        context->save_for_backward({qkv_3BHTD});
        return mergeHeads(Blocked(qkv_3BHTD).forward().view(
            {rows, heads, qkv.size(0) / rows, qkv_3BHTD.size(4)}));
    }

    static variable_list backward(AutogradContext* context, const variable_list& outputs) {
        const auto saved = context->get_saved_variables();
        const at::Tensor& qkv = saved[0];
        const std::int64_t rows = qkv.size(1), heads = qkv.size(2), length = qkv.size(3);
        const at::Tensor rotary =
            context->saved_data["rotary"].toOptional<at::Tensor>().value_or(at::Tensor());
        const at::Tensor dOut = outputs[0].contiguous();
        at::Tensor dq, dk, dv;
        if (saved.size() == 3) {
            const at::Tensor view = dOut.view({rows, length, heads, qkv.size(4)}).transpose(1, 2);
            std::tie(dq, dk, dv) = at::_scaled_dot_product_flash_attention_for_cpu_backward(
                view, qkv[0], qkv[1], qkv[2], saved[1], saved[2], 0.0, true);
        } else {
            const at::Tensor d = at::empty({3, rows * heads, length, qkv.size(4)}, qkv.options());
            Blocked(qkv).backward(
                splitHeads(dOut, rows, heads).view({rows * heads, length, qkv.size(4)}), d);
            const at::Tensor d_3BHTD = d.view(qkv.sizes());
            dq = d_3BHTD[0];
            dk = d_3BHTD[1];
            dv = d_3BHTD[2];
        }
        return {packHeads(dq, dk, dv, rotary), Variable(), Variable(), Variable()};
    }
};

/// (N, 3C) -> q, k, v (B, H, T, D), views.
std::array<at::Tensor, 3> views(const at::Tensor& qkv, std::int64_t rows, std::int64_t heads) {
    const auto parts =
        qkv.view({rows, qkv.size(0) / rows, 3, heads, qkv.size(1) / 3 / heads}).unbind(2);
    return {parts[0].transpose(1, 2), parts[1].transpose(1, 2), parts[2].transpose(1, 2)};
}

constexpr int kAttentionRounds = 3;

/// The best of several passes, more of them where they are short: beside other work on the machine
/// three are not enough to tell.
double secondsOfOnePass(const at::Tensor& qkv, std::int64_t rows, std::int64_t heads) {
    constexpr std::int64_t kEnoughNs = 10'000'000;
    constexpr int kLeast = 3, kMost = 20;
    std::int64_t best = INT64_MAX;
    std::int64_t spent = 0;
    for (int i = 0; i < kLeast || (i < kMost && spent < kEnoughNs); ++i) {
        const at::Tensor input = qkv.detach().set_requires_grad(true);
        const std::int64_t start = hostNow();
        const at::Tensor out = causalAttention(input, rows, heads);
        out.backward(out.detach());
        const std::int64_t taken = hostNow() - start;
        best = std::min(best, taken);
        spent += taken;
    }
    return static_cast<double>(best) * 1e-9;
}

}  // namespace

void useAttention(AttentionKind kind) {
    g_kind = kind;
}

double blockedOverFlash(std::int64_t rows, std::int64_t context, std::int64_t heads,
                        std::int64_t headDim) {
    const at::AutoGradMode gradient(true);
    const std::int64_t few = std::min<std::int64_t>(rows, 2);
    const at::Tensor qkv = at::randn({few * context, 3 * heads * headDim});
    const AttentionKind before = g_kind;
    double seconds[2] = {INFINITY, INFINITY};
    // In turn, so that what else the machine does meets both.
    for (int round = 0; round < kAttentionRounds; ++round)
        for (AttentionKind kind : {AttentionKind::kFlash, AttentionKind::kBlocked}) {
            useAttention(kind);
            double& best = seconds[static_cast<int>(kind)];
            best = std::min(best, secondsOfOnePass(qkv, few, heads));
        }
    useAttention(before);
    return seconds[1] / seconds[0];
}

AttentionKind attentionInUse() {
    return g_kind;
}

void useDeviceAttention(DeviceAttention kind) {
    // Numbered as at::SDPBackend: math 0, flash 1, memory-efficient 2, cuDNN 3.
    at::Context& context = at::globalContext();
    context.setSDPUseCuDNN(true);
    context.setSDPPriorityOrder(kind == DeviceAttention::kCudnn
                                    ? std::vector<std::int64_t>{3, 1, 2, 0}
                                    : std::vector<std::int64_t>{1, 3, 2, 0});
}

const char* deviceAttentionInUse(const at::Tensor& qkv, std::int64_t rows, std::int64_t heads) {
    const auto [q, k, v] = views(qkv, rows, heads);
    switch (at::_fused_sdp_choice(q, k, v, {}, 0.0, true)) {
        case 1:
            return "flash";
        case 2:
            return "memory-efficient";
        case 3:
            return "cudnn";
        default:
            return "math";
    }
}

at::Tensor dispatchedAttention(const at::Tensor& qkv, std::int64_t rows, std::int64_t heads,
                               const at::Tensor& rotary) {
    auto [q, k, v] = views(qkv, rows, heads);
    if (rotary.defined()) {
        q = rotated(q, rotary);
        k = rotated(k, rotary);
    }
    note(control::TensorRole::kQueryKeyValue, q, "attention");
    const at::Tensor out = at::scaled_dot_product_attention(q, k, v, {}, 0.0, true);
    return out.transpose(1, 2).reshape({qkv.size(0), qkv.size(1) / 3});
}

at::Tensor causalAttention(const at::Tensor& qkv, std::int64_t rows, std::int64_t heads,
                           const at::Tensor& rotary) {
    at::Tensor out;
    if (qkv.is_cuda()) {
        out = dispatchedAttention(qkv, rows, heads, rotary);
    } else {
        const OperatorScope scope("causal_attention", true);
        out = CausalAttention::apply(
            qkv, rows, heads, rotary.defined() ? std::optional<at::Tensor>(rotary) : std::nullopt);
    }
    note(control::TensorRole::kAttentionOutput, out, "attention");
    return out;
}

}  // namespace shardscope::kernels
