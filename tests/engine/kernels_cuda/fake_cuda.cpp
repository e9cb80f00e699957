#include "tests/engine/kernels_cuda/fake_cuda.h"

#include "tests/engine/kernels_cuda/fake_cuda_memory.h"
#include "tests/engine/kernels_cuda/fake_cuda_state.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::test {
namespace {

using torch::jit::Stack;

std::int64_t bytesOf(const at::Tensor& t) {
    return t.defined() ? t.numel() * static_cast<std::int64_t>(t.itemsize()) : 0;
}

/// An operator's call: its tensors as they came, and as the CPU takes them.
class Call {
public:
    Call(const c10::OperatorHandle& op, Stack* stack)
        : m_op(op),
          m_stack(stack),
          m_first(stack->size() - op.schema().arguments().size()),
          m_name(c10::toString(op.operator_name())) {
        for (std::size_t i = m_first; i < stack->size(); ++i) take((*stack)[i]);
    }

    [[nodiscard]] const std::string& name() const { return m_name; }
    [[nodiscard]] bool startsWith(const char* text) const { return m_name.starts_with(text); }

    /// Whether all results are arguments that it writes to.
    [[nodiscard]] bool writesToArguments() const {
        const auto& returns = m_op.schema().returns();
        return !returns.empty() && std::all_of(returns.begin(), returns.end(), [](const auto& r) {
            return r.alias_info() != nullptr && r.alias_info()->isWrite();
        });
    }
    [[nodiscard]] bool isView() const {
        const auto& returns = m_op.schema().returns();
        return !returns.empty() && returns[0].alias_info() != nullptr && !writesToArguments();
    }

    /// Leaves the results as they would come from a device.
    void run() {
        m_op.callBoxed(m_stack);
        for (std::size_t i = m_first; i < m_stack->size(); ++i) giveBack((*m_stack)[i]);
    }
    /// Leaves results of the right shapes, and what each launch of the graph computes into them.
    void keep(FakeCudaStream& stream) {
        requireDevice();
        Stack arguments(m_stack->begin() + static_cast<std::ptrdiff_t>(m_first), m_stack->end());
        std::vector<at::Tensor> before;
        for (std::size_t i = 0; i < m_hosts.size(); ++i)
            before.push_back(m_writes[i] ? m_hosts[i].clone() : at::Tensor());
        m_op.callBoxed(m_stack);
        for (std::size_t i = 0; i < m_hosts.size(); ++i)
            if (m_writes[i]) m_hosts[i].copy_(before[i]);
        std::vector<at::Tensor> results;
        for (std::size_t i = m_first; i < m_stack->size(); ++i) {
            TORCH_CHECK((*m_stack)[i].isTensor(), m_name, " waits for the device in a capture");
            results.push_back((*m_stack)[i].toTensor());
            spoil(results.back());
            giveBack((*m_stack)[i]);
        }
        stream.queue([op = m_op, arguments, results, alive = m_given] {
            const at::AutoDispatchBelowADInplaceOrView below;
            Stack stack = arguments;
            op.callBoxed(&stack);
            for (std::size_t i = 0; i < results.size(); ++i)
                if (!stack[i].toTensor().is_same(results[i])) results[i].copy_(stack[i].toTensor());
        });
    }

    /// The arguments that it writes to are its results, unchanged.
    void pass() {
        std::vector<at::Tensor> written;
        for (std::size_t i = 0; i < m_given.size(); ++i)
            if (m_writes[i]) written.push_back(m_given[i]);
        torch::jit::drop(*m_stack, m_stack->size() - m_first);
        for (const auto& tensor : written) m_stack->emplace_back(tensor);
    }

    /// Read and written, each tensor once; an `out` is only written, and so is what is filled.
    [[nodiscard]] std::int64_t bytes() const {
        const bool fills =
            startsWith("aten::copy_") || startsWith("aten::zero_") || startsWith("aten::fill_");
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < m_given.size(); ++i)
            sum += bytesOf(m_given[i]) * (m_writes[i] && !m_isOut[i] && !fills ? 2 : 1);
        return sum;
    }

private:
    /// But for numbers that come as tensors.
    void requireDevice() const {
        for (const at::Tensor& tensor : m_given)
            TORCH_CHECK(!tensor.defined() || tensor.is_cuda() || tensor.dim() == 0, m_name,
                        " of the host's memory in a capture");
    }
    /// Unless it is one of the arguments.
    void spoil(const at::Tensor& result) const {
        for (const at::Tensor& host : m_hosts)
            if (result.is_same(host)) return;
        if (result.defined()) std::memset(storageOf(result), 0xff, result.storage().nbytes());
    }

    void take(c10::IValue& value) {
        if (value.isDevice()) value = c10::Device(at::kCPU);
        if (value.isTensor()) {
            const auto& argument = m_op.schema().arguments()[m_taken];
            m_given.push_back(value.toTensor());
            m_hosts.push_back(onHost(m_given.back()));
            m_writes.push_back(argument.alias_info() != nullptr &&
                               argument.alias_info()->isWrite());
            m_isOut.push_back(argument.is_out());
            value = m_hosts.back();
        } else if (value.isTensorList()) {
            std::vector<at::Tensor> hosts;
            for (const at::Tensor& tensor : value.toTensorVector()) {
                m_given.push_back(tensor);
                hosts.push_back(onHost(tensor));
                m_hosts.push_back(hosts.back());
                m_writes.push_back(false);
                m_isOut.push_back(false);
            }
            value = hosts;
        }
        ++m_taken;
    }

    void giveBack(c10::IValue& value) const {
        if (!value.isTensor() || !value.toTensor().defined()) return;
        const at::Tensor result = value.toTensor();
        for (std::size_t i = 0; i < m_given.size(); ++i) {
            if (result.is_same(m_hosts[i])) {
                value = m_given[i];
                return;
            }
            if (m_given[i].defined() && m_given[i].is_cuda() && isView()) {
                value = viewOnDevice(m_given[i], result);
                return;
            }
        }
        value = onDevice(result);
    }

    const c10::OperatorHandle& m_op;
    Stack* m_stack;
    std::size_t m_first;
    std::string m_name;
    std::size_t m_taken = 0;
    std::vector<at::Tensor> m_given, m_hosts;
    std::vector<bool> m_writes, m_isOut;
};

bool isProduct(const Call& call) {
    return call.startsWith("aten::mm") || call.startsWith("aten::addmm");
}

void onCuda(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    const at::AutoDispatchBelowADInplaceOrView below;
    FakeCudaState& state = fakeCudaState();
    Call call(op, stack);
    const bool allocates = call.startsWith("aten::empty");
    if (allocates || call.isView()) {
        call.run();
        // Of what graphs allocate nothing comes back while they are there.
        if (allocates && state.captures()) state.stream->queue([made = stack->back()] {});
        return;
    }
    state.tally.add(call.name(), 1, isProduct(call) ? 0 : call.bytes());
    if (state.compute && state.captures()) return call.keep(*state.stream);
    if (state.stream != nullptr) state.stream->drain();
    if (state.compute) return call.run();
    TORCH_CHECK(call.writesToArguments(), call.name(), " has to be taught what it returns");
    call.pass();
}

TORCH_LIBRARY_IMPL(_, CUDA, library) {
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&onCuda>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
    // Its kernel for all devices looks for code of the device inside.
    library.impl("copy_", torch::CppFunction::makeFromBoxedFunction<&onCuda>());
}

}  // namespace

FakeCudaState& fakeCudaState() {
    static FakeCudaState state;
    return state;
}

FakeCuda::FakeCuda(bool compute) {
    fakeCudaState() = {compute, {}, nullptr};
    kernels::useDeviceKernels(&countedKernels());
}

FakeCuda::FakeCuda(bool compute, FakeCudaStream& stream) : FakeCuda(compute) {
    fakeCudaState().stream = &stream;
}

FakeCuda::~FakeCuda() {
    kernels::useDeviceKernels(nullptr);
    fakeCudaState().stream = nullptr;
}

DeviceTally FakeCuda::take() {
    return std::exchange(fakeCudaState().tally, {});
}

at::Tensor fakeCudaTensor(at::IntArrayRef sizes, at::ScalarType type) {
    return at::empty(sizes, at::TensorOptions().dtype(type).device(fakeCudaDevice()));
}

}  // namespace shardscope::test
