// The kinds of bench: which runs each wants, and what their recordings come to.
#pragma once

#include "app/cli/bench/bench_request.h"
#include "app/cli/bench/plot.h"
#include "profiler/questions/answer/answer.h"
#include "storage/model/result.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::cli {

/// What became of a planned run.
struct RunResult {
    PlannedRun run;
    std::vector<std::string> recordings;  ///< of its repetitions, as far as they are there
    std::string missing;                  ///< why there are none, or fewer; empty: all are there
};

struct BenchResult {
    questions::Answer answer;
    std::vector<Plot> pictures;
};

struct BenchKind {
    const char* key;           ///< "ddp"
    const char* title;         ///< what is measured, a phrase
    const char* definition;    ///< what figures are of, sentences
    std::int32_t repetitions;  ///< of each run, where it is not said
    Result<std::vector<PlannedRun>> (*plan)(const BenchRequest& request);
    /// Some results may have no recordings. Reads recordings; starts nothing.
    Result<BenchResult> (*conclude)(const BenchRequest& request,
                                    const std::vector<RunResult>& results);
    /// Measures something else beside a repetition that was measured, into the folder of the
    /// recordings; null: nothing. Any error but kInterrupted is reported, and ends nothing.
    Result<void> (*beside)(const run::RunConfig& config, std::int32_t repetition,
                           const std::string& folder) = nullptr;
};

// In the order of its help.
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
