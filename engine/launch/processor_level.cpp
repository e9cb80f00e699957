#include "engine/launch/processor_level.h"

#include <fmt/format.h>

#include <string>

namespace shardscope::launch {

Result<void> checkProcessor() {
#ifdef __x86_64__
    std::string missing;
    const auto need = [&](bool there, const char* name) {
        if (!there) missing += (missing.empty() ? "" : ", ") + std::string(name);
    };
    need(__builtin_cpu_supports("ssse3"), "SSSE3");
    need(__builtin_cpu_supports("sse4.2"), "SSE4.2");
    need(__builtin_cpu_supports("popcnt"), "POPCNT");
    if (missing.empty()) return {};
    return failure(ErrorCode::kLaunch,
                   fmt::format("this processor lacks {}, which LibTorch is compiled for (the level "
                               "x86-64-v2); train on another machine. Recordings can be read, "
                               "imported and exported here",
                               missing));
#else
    return {};
#endif
}

}  // namespace shardscope::launch
