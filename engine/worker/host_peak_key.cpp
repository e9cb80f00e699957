#include "engine/worker/host_peak_key.h"

#include "engine/kernels/matmul.h"
#include "engine/launch/host_facts.h"
#include "engine/worker/host_peak.h"

#include <ATen/Version.h>
#include <fmt/format.h>

namespace shardscope::worker {

std::string hostPeakKey(run::Precision precision, int threads) {
    return fmt::format("{}, {} {}, {} threads, {}", launch::hostFacts().cpu,
                       toWord(kernels::matmulLibraryInUse()), toWord(precision), threads,
                       at::get_cpu_capability()) +
           heldInstructions();
}

}  // namespace shardscope::worker
