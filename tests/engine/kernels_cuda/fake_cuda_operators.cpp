// Operators that a CPU does not have, or under another name: attention, and products into fp32.
#include "tests/engine/kernels_cuda/fake_cuda_memory.h"
#include "tests/engine/kernels_cuda/fake_cuda_state.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <torch/library.h>

#include <array>
#include <functional>
#include <optional>
#include <tuple>

namespace shardscope::test {
namespace {

/// Backward: the rows' sums of dOut Out, the gradients, and that of q from fp32.
constexpr std::int64_t kFlashForward = 1, kFlashBackward = 3;

/// What a device would do; when computing.
void work(const std::function<void()>& compute) {
    const FakeCudaState& state = fakeCudaState();
    if (!state.compute) return;
    state.launch([compute] {
        const at::AutoDispatchBelowADInplaceOrView below;
        compute();
    });
}

/// (B, H, T, D), position by position in memory as flash attention leaves it.
at::Tensor headsLike(const at::Tensor& t) {
    return at::empty({t.size(0), t.size(2), t.size(1), t.size(3)}, t.options()).transpose(1, 2);
}

using Flash = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt,
                         at::Tensor, at::Tensor, at::Tensor>;
Flash flash(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double, bool causal,
            bool, std::optional<double>) {
    fakeCudaState().tally.add("flash attention", kFlashForward, 0);
    const at::Tensor out = headsLike(q);
    const at::Tensor sums =
        at::empty({q.size(0), q.size(1), q.size(2)}, q.options().dtype(at::kFloat));
    work([=] {
        const auto [made, logs] = at::_scaled_dot_product_flash_attention_for_cpu(
            onHost(q), onHost(k), onHost(v), 0.0, causal);
        onHost(out).copy_(made);
        onHost(sums).copy_(logs);
    });
    return {out, sums, {}, {}, q.size(2), q.size(2), {}, {}, {}};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> flashBackward(
    const at::Tensor& dOut, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
    const at::Tensor& out, const at::Tensor& sums, const at::Tensor&, const at::Tensor&,
    c10::SymInt, c10::SymInt, double, bool causal, const at::Tensor&, const at::Tensor&,
    std::optional<double>) {
    fakeCudaState().tally.add("flash attention backward", kFlashBackward, 0);
    const std::array<at::Tensor, 3> d = {headsLike(q), headsLike(k), headsLike(v)};
    work([=] {
        const auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
            onHost(dOut), onHost(q), onHost(k), onHost(v), onHost(out), onHost(sums), 0.0, causal);
        onHost(d[0]).copy_(dq);
        onHost(d[1]).copy_(dk);
        onHost(d[2]).copy_(dv);
    });
    return {d[0], d[1], d[2]};
}

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const std::optional<at::Tensor>&, double p, bool causal,
                     std::optional<double> scale, bool) {
    return std::get<0>(at::_scaled_dot_product_flash_attention(q, k, v, p, causal, false, scale));
}

/// out = beta self + alpha a b in fp32, of narrow a and b.
void wideProduct(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out, bool add) {
    fakeCudaState().tally.add("aten::addmm or mm into fp32", 1, 0);
    work([=] {
        const at::Tensor product = at::mm(onHost(a).to(at::kFloat), onHost(b).to(at::kFloat));
        const at::Tensor host = onHost(out);
        add ? host.add_(product) : host.copy_(product);
    });
}

at::Tensor& mmInto(const at::Tensor& a, const at::Tensor& b, at::ScalarType, at::Tensor& out) {
    wideProduct(a, b, out, false);
    return out;
}

at::Tensor& addmmInto(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b,
                      at::ScalarType, const at::Scalar&, const at::Scalar&, at::Tensor& out) {
    TORCH_CHECK(self.is_same(out), "adding to another tensor would be a copy more");
    wideProduct(a, b, out, true);
    return out;
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
    library.impl("_scaled_dot_product_flash_attention", &flash);
    library.impl("_scaled_dot_product_flash_attention_backward", &flashBackward);
    library.impl("mm.dtype_out", &mmInto);
    library.impl("addmm.dtype_out", &addmmInto);
}

TORCH_LIBRARY_IMPL(aten, AutogradCUDA, library) {
    library.impl("scaled_dot_product_attention", &attention);
}

}  // namespace
}  // namespace shardscope::test
