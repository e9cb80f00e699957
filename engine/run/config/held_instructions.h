// What this process's environment holds the libraries' instructions to: how fast a CPU computes
// goes by it, so that what was measured under it is kept apart.
#pragma once

#include <string>

namespace shardscope::run {

/// "ONEDNN_MAX_CPU_ISA=AVX2, ATEN_CPU_CAPABILITY=avx2"; empty: nothing is held back. Reads the
/// environment; any thread while no other changes it.
[[nodiscard]] std::string heldInstructions();

}  // namespace shardscope::run
