// The kinds of `shardscope bench`, in the order of its help.
#pragma once

#include "app/cli/bench/bench_kind.h"

#include <array>

namespace shardscope::cli {

BenchKind modelBench();
BenchKind ddpBench();
BenchKind memoryBench();
BenchKind scalingBench();
BenchKind commBench();

inline constexpr std::array kBenchKinds{modelBench, ddpBench, memoryBench, scalingBench, commBench};

}  // namespace shardscope::cli
