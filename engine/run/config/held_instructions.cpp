#include "engine/run/config/held_instructions.h"

#include <cstdlib>

namespace shardscope::run {

std::string heldInstructions() {
    std::string held;
    for (const char* name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS",
                             "ATEN_CPU_CAPABILITY"}) {
        const char* value = std::getenv(name);
        if (value == nullptr || *value == '\0') continue;
        if (!held.empty()) held += ", ";
        held += name;
        held += '=';
        held += value;
    }
    return held;
}

}  // namespace shardscope::run
