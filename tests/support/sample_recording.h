// A small synthetic recording for tests of everything that reads one: desktop, report, queries.
//
// A zero3 run is simulated op by op for all ranks together: gathers prefetched one block ahead,
// reductions behind backward, the last rank always a little late. With a GPU the same run on
// devices: its phases are filled with kernels, its collectives know no arrivals. Deterministic.
#pragma once

#include "storage/model/recording.h"
#include "storage/model/result.h"

#include <cstdint>
#include <string>

namespace shardscope::test {

struct SampleOptions {
    std::int32_t ranks = 2;
    std::int32_t ranksPerHost = 0;  ///< 0: all on one
    std::int32_t steps = 10;
    std::int32_t blocks = 6;
    bool operators = true;            ///< nested spans on lane 2
    std::int32_t operatorRounds = 3;  ///< linear layers an operator-bearing phase consists of
    bool memory = true;
    std::int64_t leakBytes = 0;           ///< of each step, never freed
    bool peakKnown = true;                ///< ranks state a matrix-multiply peak
    std::int32_t evaluateEvery = 5;       ///< steps; 0: never
    std::int32_t dropGathersOfStep = -1;  ///< leaves the last gather of that step out
    std::uint64_t dropped = 0;            ///< events every rank says it lost
    bool gpu = false;                     ///< a device a rank, bf16, collectives over NCCL
    bool gpuTraced = true;                ///< kernels, launches and waits were traced
    bool gpuShared = false;               ///< all ranks on one device
    std::string gpuName = "NVIDIA H100 80GB HBM3";
    bool program = false;  ///< ranks are processes of a script
    Duration sentEvery{};  ///< ranks send that often, or each step where that takes longer
    bool finalise = true;
    bool pyramids = false;  ///< kept although the recording is small
    RunStatus status = RunStatus::kFinished;
};

/// Writes (and replaces) the recording at `path`.
[[nodiscard]] Result<void> writeSampleRecording(const std::string& path,
                                                const SampleOptions& options = {});

}  // namespace shardscope::test
