// Collectives of torch.distributed, from Python or C++: torch.distributed's functions, DDP's
// reducer, FSDP and functional collectives all go through the operators of the namespace c10d. Each
// gets a kernel at the dispatch key BackendSelect, which has none of its own there and comes before
// the kernels of devices: it reports and passes the call on as it is.
#include "profiler/inject/torch/shim.h"

#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>

namespace shardscope::shim {
namespace {

struct Kind {
    const char* name;
    int payload = -1;      ///< argument that bytes are counted of; -1: none
    bool perRank = false;  ///< it is one rank's part of them
    bool peer = false;     ///< the argument behind the group is the other rank
};

constexpr Kind kKinds[] = {
    {"allreduce_", 0},
    {"allreduce_coalesced_", 0},
    {"broadcast_", 0},
    {"reduce_", 0},
    {"allgather_", 0},
    {"_allgather_base_", 0},
    {"allgather_coalesced_", 0},
    {"allgather_into_tensor_coalesced_", 0},
    {"reduce_scatter_", 1},
    {"_reduce_scatter_base_", 1},
    {"reduce_scatter_tensor_coalesced_", 1},
    {"gather_", 1, true},  // receiving tensors are on the root only
    {"gather_into_tensor_", 1, true},
    {"scatter_", 0, true},
    {"alltoall_", 1},
    {"alltoall_base_", 1},
    {"barrier"},
    {"monitored_barrier_"},
    {"send", 0, false, true},
    {"recv_", 0, false, true},
    {"recv_any_source_", 0},
};
constexpr std::size_t kCount = std::size(kKinds);

std::size_t g_arguments[kCount];
std::size_t g_group[kCount];  // which argument it is

struct Payload {
    std::int64_t bytes = 0;
    std::int32_t dtype = -1;
    c10::DeviceType device = c10::DeviceType::CPU;
    bool tensor = false;
};

void add(const c10::IValue& value, Payload& to) {
    if (value.isList()) {
        for (const c10::IValue& each : value.toListRef()) add(each, to);
    } else if (value.isTensor() && value.toTensor().defined()) {
        const at::Tensor& tensor = value.toTensor();
        if (!std::exchange(to.tensor, true)) {
            to.dtype = static_cast<std::int32_t>(tensor.scalar_type());
            to.device = tensor.device().type();
        }
        const bool dense = tensor.layout() == c10::kStrided && !tensor.is_nested();
        if (!dense) to.bytes = -1;
        const auto size = static_cast<std::int64_t>(tensor.itemsize());
        if (to.bytes >= 0) to.bytes += tensor.numel() * size;
    }
}

std::string backendOf(c10d::ProcessGroup& group, c10::DeviceType device) {
    try {
        return group.getBackend(device)->getBackendName();
    } catch (...) {  // a group that is no collection of backends
        return group.getBackendName();
    }
}

/// Ends a collective whose work has no future, such as Gloo's of messages and of reduce-scatter.
/// Gloo's works carry a RecordFunction where one is observed, and with it the debug info of the
/// thread that made them: this. It ends when they end, or at the latest when the last of them is
/// released.
class Ending final : public c10::DebugInfoBase {
public:
    Ending(std::uint64_t number, int works) : m_number(number), m_open(works + kCall) {}
    ~Ending() override { end(false); }
    void workEnded() noexcept { close(1); }
    /// Not where a future stands for all works. Until then none ends it: some calls wait for
    /// several.
    void callEnded() noexcept { close(kCall); }
    void end(bool failed) noexcept {
        const std::uint64_t number = m_number.exchange(0);
        if (number != 0) (failed ? g_api->collective_failed : g_api->collective_completed)(number);
    }

private:
    static constexpr int kCall = 1 << 20;  // more than there are works
    void close(int count) noexcept {
        if (m_open.fetch_sub(count) <= count) end(false);
    }
    std::atomic<std::uint64_t> m_number;
    std::atomic<int> m_open;
};

/// A kind that only PyTorch's own tests use.
c10::DebugInfoKind endingKind() {
    return c10::DebugInfoKind::TEST_INFO_2;
}

std::unique_ptr<at::ObserverContext> beginWork(const at::RecordFunction&) noexcept {
    return nullptr;
}

void endWork(const at::RecordFunction& function, at::ObserverContext*) noexcept {
    if (!function.isAsync()) return;
    auto* ending = static_cast<Ending*>(c10::ThreadLocalDebugInfo::get(endingKind()));
    if (ending != nullptr) ending->workEnded();
}

/// For the works that are made while it lives.
class Listener {
public:
    explicit Listener(const std::shared_ptr<Ending>& ending)
        : m_info(endingKind(), ending),
          m_handle(at::addThreadLocalCallback(at::RecordFunctionCallback(&beginWork, &endWork)
                                                  .scopes({at::RecordScope::USER_SCOPE}))) {}
    ~Listener() { at::removeCallback(m_handle); }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

private:
    c10::DebugInfoGuard m_info;
    at::CallbackHandle m_handle;
};

struct Issued {
    std::uint64_t number = 0;  // 0: not recorded
    bool host = false;         // its tensors are on the CPU
    int works = 1;             // that Gloo makes of it
};

/// Reports the collective on top of `stack`.
Issued issue(std::size_t kindAt, const torch::jit::Stack& stack) noexcept {
    const Kind& kind = kKinds[kindAt];
    if (!levelIs(SHARDSCOPE_STEPS)) return {};
    try {
        const c10::IValue* arguments = stack.data() + stack.size() - g_arguments[kindAt];
        Payload payload;
        add(arguments[kind.payload < 0 ? 0 : kind.payload], payload);
        if (payload.device == c10::DeviceType::Meta) return {};  // tried out, with nothing in it
        const auto group = arguments[g_group[kindAt]].toCustomClass<c10d::ProcessGroup>();
        ShardscopeCollective call{};
        if (kind.perRank && payload.bytes > 0) payload.bytes *= group->getSize();
        const std::string backend = backendOf(*group, payload.device);
        const std::string name = group->getGroupName();
        call.operation = kind.name;
        call.group = name.c_str();
        call.backend = backend.c_str();
        call.bytes = kind.payload < 0 ? 0 : payload.bytes;
        call.dtype = kind.payload < 0 ? -1 : payload.dtype;
        call.group_rank = group->getRank();
        call.group_size = group->getSize();
        call.peer =
            kind.peer ? static_cast<std::int32_t>(arguments[g_group[kindAt] + 1].toInt()) : -1;
        Issued issued{g_api->collective_issued(&call), payload.device == c10::DeviceType::CPU};
        // One all-reduce for each tensor.
        if (kind.payload == 1 && arguments[0].isList()) {
            issued.works = std::max(1, static_cast<int>(arguments[0].toListRef().size()));
        }
        return issued;
    } catch (...) {
        return {};
    }
}

/// Whether a future will report the end of what is on top of `stack`.
bool follow(const std::shared_ptr<Ending>& ending, const torch::jit::Stack& stack) noexcept {
    try {
        if (stack.empty() || !stack.back().isObject()) return false;
        const auto work = stack.back().toCustomClass<c10d::Work>();
        if (!work) return false;
        const c10d::Work& known = *work;
        // Asked once: an exception of PyTorch's takes as long as many collectives.
        static std::atomic<const std::type_info*> withoutFuture[4];
        for (std::atomic<const std::type_info*>& each : withoutFuture) {
            const std::type_info* none = nullptr;
            if (each.load() == &typeid(known)) return false;
            if (each.load() != nullptr) continue;
            try {
                const c10::intrusive_ptr<c10::ivalue::Future> future = work->getFuture();
                if (!future) return false;
                // At once where it has ended, else on the backend's thread.
                future->addCallback(
                    [ending](c10::ivalue::Future& ended) noexcept {
                        ending->end(ended.hasError());
                    },
                    /*uses_future=*/false);
                return true;
            } catch (...) {
                each.compare_exchange_strong(none, &typeid(known));
                return false;
            }
        }
    } catch (...) {
    }
    return false;
}

template <std::size_t kAt>
void kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const c10::DispatchKeySet rest = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER,
                                                                c10::DispatchKey::BackendSelect);
    const Issued issued = issue(kAt, *stack);
    if (issued.number == 0) return op.redispatchBoxed(rest, stack);
    std::shared_ptr<Ending> ending;
    try {
        if (issued.host) {
            ending = std::make_shared<Ending>(issued.number, issued.works);
            const Listener listener(ending);
            op.redispatchBoxed(rest, stack);
        } else {
            op.redispatchBoxed(rest, stack);
        }
    } catch (...) {
        if (ending) {
            ending->end(true);
        } else {
            g_api->collective_failed(issued.number);
        }
        throw;
    }
    if (!ending) {
        // On devices, when it is queued there: how long it takes from then on is not known here.
        g_api->collective_completed(issued.number);
    } else if (!follow(ending, *stack)) {
        ending->callEnded();
    }
}

template <std::size_t kAt>
void observe(torch::Library& library) {
    const auto op =
        c10::Dispatcher::singleton().findSchema({std::string("c10d::") + kKinds[kAt].name, ""});
    // Not in this version, or with another kernel there, which ours would replace.
    if (!op || op->hasKernelForDispatchKey(c10::DispatchKey::BackendSelect)) return;
    const auto& arguments = op->schema().arguments();
    g_arguments[kAt] = arguments.size();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i].type()->str() != "__torch__.torch.classes.c10d.ProcessGroup") continue;
        g_group[kAt] = i;
        library.impl(kKinds[kAt].name, torch::CppFunction::makeFromBoxedFunction<&kernel<kAt>>());
        return;
    }
}

template <std::size_t... kAll>
void observeAll(torch::Library& library, std::index_sequence<kAll...>) {
    (observe<kAll>(library), ...);
}

}  // namespace

void observeCollectives() {
    // For the life of the process, as the kernels are.
    static auto* library = new torch::Library(torch::Library::IMPL, "c10d",
                                              c10::DispatchKey::BackendSelect, __FILE__, __LINE__);
    observeAll(*library, std::make_index_sequence<kCount>());
    observeFunctionalWaits();
}

}  // namespace shardscope::shim
