// Operators and ranges, and what libshardscope_inject.so calls.
#include "profiler/inject/torch/shim.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <pthread.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

namespace shardscope::shim {

const ShardscopeApi* g_api = nullptr;
std::atomic<std::int32_t> g_level{SHARDSCOPE_OFF};

namespace {

constexpr std::size_t kTensors = 64;   // of one operator that are reported
constexpr std::size_t kNumbers = 512;  // ranks and sizes of these
constexpr std::size_t kListed = 64;    // lengths and numbers of other arguments
constexpr char kEngineWrapper[] = "autograd::engine::evaluate_function";
constexpr char kRangeOperators[] = "profiler::_record_function";

struct Arguments {
    std::int64_t numbers[kNumbers];
    std::int8_t dtypes[kTensors];
    std::int64_t lists[kListed];
    std::size_t used = 0;
    std::size_t tensors = 0;
    std::size_t listed = 0;
};

/// Left out: undefined tensors, sizes that are symbols, and nested tensors, which have no sizes.
void take(const at::Tensor& tensor, Arguments& to) {
    if (!tensor.defined() || tensor.is_nested()) return;
    const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    if (impl->has_symbolic_sizes_strides()) return;
    // Those of a subclass made in Python as it was created with: sizes() could call Python.
    const c10::IntArrayRef sizes = impl->sizes_default();
    if (to.tensors == kTensors || to.used + 1 + sizes.size() > kNumbers) return;
    to.dtypes[to.tensors++] = static_cast<std::int8_t>(tensor.scalar_type());
    to.numbers[to.used++] = static_cast<std::int64_t>(sizes.size());
    for (const std::int64_t size : sizes) to.numbers[to.used++] = size;
}

void take(const c10::IValue& value, Arguments& to) {
    if (value.isTensor()) {
        take(value.toTensor(), to);
    } else if (value.isList()) {
        for (const c10::IValue& each : value.toListRef()) {
            if (each.isNone()) continue;  // as the indices of x[:, i]
            if (!each.isTensor() || to.tensors == kTensors) break;
            take(each.toTensor(), to);
        }
    }
}

/// Names differ within a few letters: a call takes longer.
template <std::size_t kSize>
bool startsWith(const char* name, const char (&text)[kSize]) {
    std::size_t at = 0;
    while (at + 1 < kSize && name[at] == text[at]) ++at;
    return at + 1 == kSize;
}

/// Strides, padding and the mask of gradients say what a convolution costs.
bool hasLists(const char* name) {
    return startsWith(name, "aten::convolution") || startsWith(name, "aten::_convolution");
}

std::int64_t numberIn(const c10::IValue& value) {
    return value.isBool() ? static_cast<std::int64_t>(value.toBool()) : value.toInt();
}

bool isNumber(const c10::IValue& value) {
    return value.isBool() || value.isInt();
}

/// A number, a flag or a list of these; of anything else nothing.
void takeList(const c10::IValue& value, Arguments& to) {
    const std::size_t begin = to.listed;
    if (isNumber(value) && begin + 2 <= kListed) {
        to.lists[to.listed++] = 1;
        to.lists[to.listed++] = numberIn(value);
    } else if (value.isList() && begin < kListed) {
        ++to.listed;
        for (const c10::IValue& each : value.toListRef()) {
            if (!isNumber(each) || to.listed == kListed) {
                to.listed = begin;
                return;
            }
            to.lists[to.listed++] = numberIn(each);
        }
        to.lists[begin] = static_cast<std::int64_t>(to.listed - begin) - 1;
    }
}

bool leftOut(const char* name) {
    // torch.profiler has one around each node of the backward pass. The node, and what else is in
    // it (adding up gradients), are reported, at a depth of one less than there: so counts are
    // lower by one for each node.
    if (startsWith(name, kEngineWrapper)) return true;
    // They open and close a range: the first ends within it, the second begins within it.
    return startsWith(name, kRangeOperators);
}

template <bool kInputs>
std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) noexcept {
    if (function.isAsync()) return nullptr;  // ends on another thread: no span of this one
    const char* name = function.name();
    if (leftOut(name)) return nullptr;
    ShardscopeSpan span{};
    span.key = &function;
    span.name = name;
    span.name_length = std::strlen(name);
    span.sequence = function.seqNr();
    span.scope = static_cast<std::uint32_t>(function.scope());
    if constexpr (kInputs) {
        Arguments arguments;
        try {
            const bool lists = hasLists(name);
            for (const c10::IValue& each : function.inputs()) {
                take(each, arguments);
                if (lists && !each.isTensor()) takeList(each, arguments);
            }
        } catch (...) {  // of a tensor unlike all others: those before it are reported
        }
        span.shapes = arguments.numbers;
        span.shapes_length = arguments.used;
        span.dtypes = arguments.dtypes;
        span.tensors = arguments.tensors;
        span.lists = arguments.lists;
        span.lists_length = arguments.listed;
        g_api->span_begin(&span);
    } else {
        g_api->span_begin(&span);
    }
    return nullptr;
}

void end(const at::RecordFunction& function, at::ObserverContext*) noexcept {
    g_api->span_end(&function);
}

std::atomic_flag g_changing = ATOMIC_FLAG_INIT;

// Below full no operator is reported, and the first step has to begin somewhere: one callback until
// autograd has made its first node.
std::atomic<at::CallbackHandle> g_waiting{at::INVALID_CALLBACK_HANDLE};

std::unique_ptr<at::ObserverContext> awaitForward(const at::RecordFunction& function) noexcept {
    if (function.seqNr() <= 0) return nullptr;
    const at::CallbackHandle own = g_waiting.exchange(at::INVALID_CALLBACK_HANDLE);
    if (own == at::INVALID_CALLBACK_HANDLE) return nullptr;
    g_api->first_forward();
    try {
        at::removeCallback(own);  // the event under way keeps a copy
    } catch (...) {
    }
    return nullptr;
}

void waitForForward() {
    g_waiting = at::addGlobalCallback(
        at::RecordFunctionCallback(&awaitForward, nullptr).scopes({at::RecordScope::FUNCTION}));
}

void afterFork() noexcept {
    g_changing.clear();
    forgetMemory();
}

/// A RecordFunction keeps the callbacks that it began with, so ends match begins over a change.
void observeSpans(std::int32_t level) {
    static at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;
    if (handle != at::INVALID_CALLBACK_HANDLE) at::removeCallback(handle);
    handle = at::INVALID_CALLBACK_HANDLE;
    if (level == SHARDSCOPE_LIGHT) {
        handle = at::addGlobalCallback(
            at::RecordFunctionCallback(&begin<false>, &end)
                .scopes({at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE}));
    } else if (level >= SHARDSCOPE_FULL) {
        handle = at::addGlobalCallback(
            at::RecordFunctionCallback(&begin<true>, &end)
                .needsInputs(true)
                .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                         at::RecordScope::USER_SCOPE}));
    }
}

}  // namespace
}  // namespace shardscope::shim

using namespace shardscope::shim;

static_assert(static_cast<int>(at::RecordScope::FUNCTION) == SHARDSCOPE_FUNCTION &&
              static_cast<int>(at::RecordScope::BACKWARD_FUNCTION) == SHARDSCOPE_BACKWARD &&
              static_cast<int>(at::RecordScope::USER_SCOPE) == SHARDSCOPE_RANGE);

extern "C" SHARDSCOPE_EXPORT void shardscope_torch_level(std::int32_t level) {
    if (g_api == nullptr || g_changing.test_and_set(std::memory_order_acquire)) return;
    try {
        const std::int32_t before = g_level.load();
        if (level >= SHARDSCOPE_FULL) observeMemory();
        static bool waited = false;
        if (level < SHARDSCOPE_FULL && level > SHARDSCOPE_OFF && !std::exchange(waited, true))
            waitForForward();
        if (level != before) observeSpans(level);
        g_level.store(level);
    } catch (...) {
        g_api->log("warning", "PyTorch refused an observer of its operators; none are recorded");
    }
    g_changing.clear(std::memory_order_release);
}

extern "C" SHARDSCOPE_EXPORT std::int32_t shardscope_torch_start(const ShardscopeApi* api) {
    if (api == nullptr || api->version != SHARDSCOPE_API_VERSION ||
        api->size < sizeof(ShardscopeApi)) {
        return -1;
    }
    const bool first = g_api == nullptr;
    g_api = api;
    if (!first) return 0;
    pthread_atfork(nullptr, nullptr, &afterFork);
    try {
        observeCollectives();
    } catch (...) {
        g_api->log("warning", "PyTorch refused an observer of its collectives; none are recorded");
    }
    return 0;
}
