// The kinds of `shardscope bench`, in the order of its help.
#pragma once

#include "app/cli/bench/bench_kind.h"

#include <array>

namespace shardscope::cli {

BenchKind modelBench();
BenchKind ddpBench();
BenchKind memoryBench();
BenchKind scalingBench();

inline constexpr std::array kBenchKinds{modelBench, ddpBench, memoryBench, scalingBench};

}  // namespace shardscope::cli
