// A synthetic Kineto trace of any size, with the shapes and arguments of a real one.
#pragma once

#include <cstdint>
#include <cstdio>

namespace shardscope::bench {

struct KinetoSize {
    std::uint64_t events = 0;
    std::uint64_t bytes = 0;
};

/// Writes events until `bytes` are reached: per operator one cpu_op, a launch, its flow and a
/// kernel, now and then a copy, a collective and a step. As PyTorch writes it since 2024: pretty
/// separators, nanosecond fractions, times relative to baseTimeNanoseconds.
KinetoSize writeKinetoTrace(std::FILE* to, std::uint64_t bytes);

}  // namespace shardscope::bench
