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
BenchKind normsBench();

/// What bench norms measures: rows and widths of Stanford CS336, assignment 2.
inline constexpr const char* kUsualNormShapes = "50000x1024,50000x2048,50000x4096,50000x8192";

/// What bench comm does, in the assignment's binary multiples.
inline constexpr const char* kUsualPayloads = "512KiB-1GiB";

inline constexpr std::array kBenchKinds{modelBench,   ddpBench,  memoryBench,
                                        scalingBench, commBench, normsBench};

}  // namespace shardscope::cli
