// A kind of bench: which runs it wants, and what their recordings come to. bench_kinds.h lists
// them.
#pragma once

#include "app/cli/bench/bench_request.h"
#include "app/cli/bench/plot.h"
#include "profiler/questions/answer.h"
#include "storage/model/result.h"

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
    /// recordings; null: nothing. Any error but kInterrupted is told, and ends nothing.
    Result<void> (*beside)(const run::RunConfig& config, std::int32_t repetition,
                           const std::string& folder) = nullptr;
};

}  // namespace shardscope::cli
