// The kinds of bench: which runs each wants, and what their recordings come to.
#pragma once

#include "app/cli/bench/plot.h"
#include "app/cli/bench/settings_grid.h"
#include "engine/run/config/run_config.h"
#include "profiler/questions/answer/answer.h"
#include "storage/model/result.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardscope::cli {

// What a bench was asked for: settings of its runs, some of them lists; how often and for how long
// each is run. And the runs that come of it.

/// A run that is wanted, as often as the bench repeats its runs.
struct PlannedRun {
    std::string name;        ///< of its recordings, without number and ending; unique
    std::string group;       ///< a word of its bench's own: "strong"
    run::RunConfig config;   ///< without output
    std::string impossible;  ///< why it is not run, a phrase; empty: it is
};

class BenchRequest {
public:
    run::RunConfig start;  ///< what settings change
    /// What was given, by key: one value or several.
    std::map<std::string, std::vector<std::string>> given;
    std::int32_t steps = 10;       ///< that are measured, after the warm-up
    std::int32_t warmUp = 2;       ///< steps in front that do not count
    std::int32_t repetitions = 0;  ///< whole runs of each; 0: as the bench has it

    [[nodiscard]] bool gives(const std::string& key) const { return given.contains(key); }
    /// What was given for the key, else `standard`.
    [[nodiscard]] std::vector<std::string> valuesOf(const std::string& key,
                                                    const std::vector<std::string>& standard) const;

    /// The grid of `axes`, with what was given instead of their values, and of every other option
    /// that was given several; `capture` of all of them. Settings that mean nothing beside others
    /// are as they are by themselves, and equal runs are one. Runs that cannot be are there, and
    /// say why. Errors (kUsage): a value that is none, or an option that is without effect in all
    /// runs.
    [[nodiscard]] Result<std::vector<PlannedRun>> runs(const std::vector<SettingsAxis>& axes,
                                                       CaptureLevel capture,
                                                       const std::string& group = {}) const;
};

/// kUsage, with the reason, for an option that was given and means nothing in any of the runs.
[[nodiscard]] Result<void> eachChangesSomething(const BenchRequest& request,
                                                const std::vector<PlannedRun>& runs);

/// Adds what `runs` does not have yet.
void addRuns(std::vector<PlannedRun> more, std::vector<PlannedRun>& runs);

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
