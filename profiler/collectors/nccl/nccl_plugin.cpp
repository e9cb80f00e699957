#include "profiler/collectors/nccl/nccl_plugin.h"

#include "profiler/collectors/nccl/nccl_profiler.h"

namespace shardscope::collectors {
namespace {

// NCCL's callbacks carry no pointer of ours before a communicator exists.
std::atomic<NcclProfiler*> g_profiler{nullptr};

NcclProfiler* current() {
    return g_profiler.load(std::memory_order_acquire);
}

int initialise(void** context, std::uint64_t id, int* mask, const char* name, int nodes, int ranks,
               int rank, nccl::Logger) {
    if (context != nullptr) *context = nullptr;
    if (auto* profiler = current())
        profiler->initialise(context, id, mask, name, nodes, ranks, rank);
    return 0;
}

int startEvent(void* context, void** handle, nccl::EventDescriptor* descriptor) {
    if (handle != nullptr) *handle = nullptr;
    if (auto* profiler = current()) profiler->startEvent(context, handle, descriptor);
    return 0;
}

int stopEvent(void* handle) {
    if (auto* profiler = current()) profiler->stopEvent(handle);
    return 0;
}

int recordEventState(void* handle, int state, nccl::EventStateArgs* args) {
    if (auto* profiler = current()) profiler->recordEventState(handle, state, args);
    return 0;
}

int finalise(void* context) {
    if (auto* profiler = current()) profiler->finalise(context);
    return 0;
}

}  // namespace

void NcclProfiler::install(NcclProfiler* profiler) {
    g_profiler.store(profiler, std::memory_order_release);
}

}  // namespace shardscope::collectors

extern "C" {
shardscope::collectors::nccl::Plugin ncclProfiler_v5 = {
    "shardscope",
    shardscope::collectors::initialise,
    shardscope::collectors::startEvent,
    shardscope::collectors::stopEvent,
    shardscope::collectors::recordEventState,
    shardscope::collectors::finalise,
};
}
