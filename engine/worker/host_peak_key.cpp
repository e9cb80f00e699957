#include "engine/worker/host_peak_key.h"

#include "engine/kernels/matmul.h"
#include "engine/launch/host_facts.h"
#include "engine/run/config/held_instructions.h"

#include <ATen/Version.h>
#include <fmt/format.h>

namespace shardscope::worker {

std::string hostPeakKey(run::Precision precision, int threads) {
    // A run that may use less of the processor has another peak.
    const std::string held = run::heldInstructions();
    return fmt::format("{}, {} {}, {} threads, {}{}{}", launch::hostFacts().cpu,
                       toWord(kernels::matmulLibraryInUse()), toWord(precision), threads,
                       at::get_cpu_capability(), held.empty() ? "" : ", ", held);
}

}  // namespace shardscope::worker
