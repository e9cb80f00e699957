// LD_PRELOADed into shardscope-rank, lets torch.profiler's tracer (Kineto) watch the whole run:
// a second opinion on kernels, for packaging/gpu-check. Our own tracer has to stay away, CUPTI
// serves one. Writes a Chrome trace to $SHARDSCOPE_KINETO_TRACE when the process
// calls _Exit().
#include <ATen/Context.h>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <set>

namespace {

using torch::profiler::impl::ActivityType;

pid_t g_traced = 0;  // a fork's end is not the traced process's

void begin() {
    if (std::getenv("SHARDSCOPE_KINETO_TRACE") == nullptr) return;
    // Before Kineto asks whether there is a device. Without the library there is none.
    static_cast<void>(dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL));
    const std::set<ActivityType> activities = {at::hasCUDA() ? ActivityType::CUDA
                                                             : ActivityType::CPU};
    const torch::profiler::impl::ProfilerConfig config(
        torch::profiler::impl::ProfilerState::KINETO);
    torch::autograd::profiler::prepareProfiler(config, activities);
    torch::autograd::profiler::enableProfiler(config, activities);
    g_traced = getpid();
}

void end() {
    if (g_traced != getpid()) return;
    g_traced = 0;
    torch::autograd::profiler::disableProfiler()->save(std::getenv("SHARDSCOPE_KINETO_TRACE"));
}

template <class Call>
void guarded(const Call& call) {
    try {
        call();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "kineto oracle: %s\n", error.what());
    }
}

/// Kineto's state belongs to the thread that enabled it: the main one, as that which ends.
[[gnu::constructor]] void start() {
    guarded(begin);
}

[[noreturn]] void leave(int status) {
    guarded(end);
    std::fflush(nullptr);
    for (;;) syscall(SYS_exit_group, status);
}

}  // namespace

// How shardscope-rank ends; destructors, too late for Kineto, do not run.
extern "C" {
[[gnu::visibility("default")]] void _Exit(int status) noexcept {
    leave(status);
}
[[gnu::visibility("default")]] void _exit(int status) {
    leave(status);
}
}
