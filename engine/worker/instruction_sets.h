// Which instructions LibTorch may use on this processor.
#pragma once

#include <string>
#include <string_view>

namespace shardscope::worker {

/// What LibTorch's kernels are compiled for beyond the baseline (aten/src/ATen/native/
/// DispatchStub.cpp of LibTorch 2.11).
struct InstructionSets {
    bool avx2 = false;    ///< with FMA
    bool avx512 = false;  ///< F, VL, BW and DQ, with FMA
};
[[nodiscard]] InstructionSets instructionSetsHere();

/// Whether kernels of this level, a word of ATEN_CPU_CAPABILITY, run on such a processor.
[[nodiscard]] bool canRun(std::string_view capability, InstructionSets sets);

/// LibTorch believes ATEN_CPU_CAPABILITY and dies of an illegal instruction where the processor
/// does not have it. What is impossible here is taken out of the environment, and LibTorch chooses
/// itself. Before it computes anything and while no other thread reads the environment. A sentence
/// for people; empty: all is as it was.
[[nodiscard]] std::string dropImpossibleCapability();

}  // namespace shardscope::worker
