// Waits of functional collectives, DTensor and compiled graphs: `_c10d_functional::wait_tensor`.
//
// At level full it is reported as any other operator is. At light no operator is observed: it gets
// a kernel at the dispatch key BackendSelect, as collectives do, which reports a range of its name.
#include "profiler/inject/torch/shim.h"

#include <torch/library.h>

#include <cstring>

namespace shardscope::shim {
namespace {

constexpr char kNamespace[] = "_c10d_functional";
constexpr char kName[] = "wait_tensor";
constexpr char kWhole[] = "_c10d_functional::wait_tensor";

/// Nothing at other levels than light.
class Range {
public:
    Range() : m_open(levelIs(SHARDSCOPE_LIGHT) && !levelIs(SHARDSCOPE_FULL)) {
        if (!m_open) return;
        ShardscopeSpan span{};
        span.key = this;
        span.name = kWhole;
        span.name_length = std::strlen(kWhole);
        span.sequence = -1;
        span.scope = SHARDSCOPE_RANGE;
        g_api->span_begin(&span);
    }
    ~Range() {
        if (m_open) g_api->span_end(this);
    }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

private:
    bool m_open;
};

void kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const Range range;
    op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER,
                                                  c10::DispatchKey::BackendSelect),
                       stack);
}

}  // namespace

void observeFunctionalWaits() {
    const auto op = c10::Dispatcher::singleton().findSchema({kWhole, ""});
    if (!op || op->hasKernelForDispatchKey(c10::DispatchKey::BackendSelect)) return;
    // For the life of the process, as the kernel is.
    static auto* library = new torch::Library(torch::Library::IMPL, kNamespace,
                                              c10::DispatchKey::BackendSelect, __FILE__, __LINE__);
    library->impl(kName, torch::CppFunction::makeFromBoxedFunction<&kernel>());
}

}  // namespace shardscope::shim
