#include "engine/worker/instruction_sets.h"

#include <fmt/format.h>

#include <cstdlib>

namespace shardscope::worker {
namespace {

constexpr const char* kVariable = "ATEN_CPU_CAPABILITY";

}  // namespace

InstructionSets instructionSetsHere() {
#ifdef __x86_64__
    const bool fma = __builtin_cpu_supports("fma");
    return {fma && __builtin_cpu_supports("avx2"),
            fma && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")};
#else
    return {true, true};  // the words of other processors are theirs
#endif
}

bool canRun(std::string_view capability, InstructionSets sets) {
    if (capability == "avx512") return sets.avx512;
    if (capability == "avx2") return sets.avx2;
    return true;
}

std::string dropImpossibleCapability() {
    const char* wanted = std::getenv(kVariable);
    if (wanted == nullptr || canRun(wanted, instructionSetsHere())) return {};
    std::string sentence = fmt::format(
        "{}={} asks LibTorch for instructions that this processor does not have; it is ignored",
        kVariable, wanted);
    ::unsetenv(kVariable);
    return sentence;
}

}  // namespace shardscope::worker
