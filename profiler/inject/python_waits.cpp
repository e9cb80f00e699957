// Methods of Python that wait, with the wait around them (inject_api.h).
//
// They are C so that they are to Python, pybind11 and Dynamo what they stand for: no frame of
// Python that could be traced or compiled, and a method that pybind11 takes for its own where it
// looks for one that a subclass overrides.
#include "profiler/inject/inject_api.h"

#include <cstring>

namespace {

shardscope_call_t g_call = nullptr;

void* waitIn(const char* name, void* method, void* arguments, void* words) {
    if (shardscope_level() < SHARDSCOPE_LIGHT) return g_call(method, arguments, words);
    ShardscopeSpan span{};
    span.key = &span;
    span.name = name;
    span.name_length = std::strlen(name);
    span.sequence = -1;
    span.scope = SHARDSCOPE_RANGE;
    const ShardscopeApi* api = shardscope_api();
    api->span_begin(&span);
    void* result = g_call(method, arguments, words);
    api->span_end(&span);
    return result;
}

}  // namespace

void shardscope_waits_call(shardscope_call_t call) {
    g_call = call;
}

void* shardscope_work_wait(void* method, void* arguments, void* words) {
    return waitIn("torch.distributed.Work.wait", method, arguments, words);
}

void* shardscope_future_wait(void* method, void* arguments, void* words) {
    return waitIn("torch.futures.Future.wait", method, arguments, words);
}
