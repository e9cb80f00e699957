// What a bench was asked for: settings of its runs, some of them lists; how often and for how long
// each is run. And the runs that come of it.
#pragma once

#include "app/cli/bench/settings_grid.h"
#include "engine/run/config/run_config.h"
#include "storage/model/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardscope::cli {

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

}  // namespace shardscope::cli
