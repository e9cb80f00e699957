#include "storage/interchange/kineto/in/category.h"

namespace shardscope::interchange::kineto {
namespace {

struct Known {
    std::string_view text;
    Category category;
};

constexpr Category kOperator{"cpu_op", LaneRole::kHost, false, false};
constexpr Category kKernel{"kernel", LaneRole::kCompute, true, true};
constexpr Category kCopy{"gpu_memcpy", LaneRole::kCopy, true, false};
constexpr Category kSet{"gpu_memset", LaneRole::kCopy, true, false};
constexpr Category kRuntime{"cuda_runtime", LaneRole::kRuntime, false, false};

constexpr Category runtime(std::string_view name) {
    return {name, LaneRole::kRuntime, false, false};
}

/// kineto libkineto/include/ActivityType.h, the frequent ones first; then the names of 2021.
constexpr Known kKnown[] = {
    {"cpu_op", kOperator},
    {"cuda_runtime", kRuntime},
    {"kernel", kKernel},
    {"python_function", {"python_function", LaneRole::kHost, false, false}},
    {"gpu_memcpy", kCopy},
    {"gpu_memset", kSet},
    {"cuda_driver", runtime("cuda_driver")},
    {"user_annotation", {"user_annotation", LaneRole::kRange, false, false}},
    {"gpu_user_annotation", {"gpu_user_annotation", LaneRole::kRange, true, false}},
    {"cuda_sync", {"cuda_sync", LaneRole::kSync, true, false}},
    {"xpu_sync", {"xpu_sync", LaneRole::kSync, true, false}},
    {"cuda_event", {"cuda_event", LaneRole::kSync, true, false}},
    {"overhead", {"overhead", LaneRole::kHost, false, false}},
    {"Trace", {"Trace", LaneRole::kRange, false, false}},
    {"mtia_ccp_events", {"mtia_ccp_events", LaneRole::kCompute, true, true}},
    {"hpu_op", {"hpu_op", LaneRole::kCompute, true, true}},
    {"collective_comm", {"collective_comm", LaneRole::kCommunication, true, true}},
    {"xpu_runtime", runtime("xpu_runtime")},
    {"xpu_driver", runtime("xpu_driver")},
    {"mtia_runtime", runtime("mtia_runtime")},
    {"glow_runtime", runtime("glow_runtime")},
    {"privateuse1_runtime", runtime("privateuse1_runtime")},
    {"privateuse1_driver", runtime("privateuse1_driver")},
    {"Operator", kOperator},
    {"Kernel", kKernel},
    {"Memcpy", kCopy},
    {"Memset", kSet},
    {"Runtime", kRuntime},
};

}  // namespace

Category categoryOf(std::string_view text) {
    for (const Known& known : kKnown)
        if (known.text == text) return known.category;
    return {text, LaneRole::kHost, false, false};
}

}  // namespace shardscope::interchange::kineto
