// The search behind `shardscope tune`: short measured runs over a grid of settings, guided by what
// the first of them says of computing and link (profiler/planning/forecast.h). Main thread.
#pragma once

#include "app/cli/bench/settings_grid.h"
#include "engine/run/config/run_config.h"
#include "profiler/questions/answer/answer.h"
#include "storage/model/result.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::cli {

struct TuneRequest {
    run::RunConfig start;  ///< the first run, which forecasts of the others rest on
    std::vector<SettingsAxis> axes;
    std::string folder;  ///< of recordings
    std::int32_t steps = 6, warmUp = 2;
    double share = 0.2;  ///< of the grid that is measured at most, the first run besides
    std::chrono::seconds budget{0};  ///< 0: none
    bool force = false, quiet = false;
};

struct TuneResult {
    questions::Answer answer;  ///< the path and what came of it
    std::optional<run::RunConfig> best;
    std::optional<Error> ended;  ///< why it ended before the search did
};

/// "5m", "90s", "1h", "45". kUsage with a sentence on anything else.
[[nodiscard]] Result<std::chrono::seconds> parseBudget(const std::string& text);

/// "strategy,batch=4:8:16": keys or flags of run options, with their own or the usual values.
/// kUsage where there is no such option or it has no usual values.
[[nodiscard]] Result<std::vector<SettingsAxis>> parseAxes(const std::string& text,
                                                          const run::RunConfig& start);

/// What came of it, of settings that took `times` the start's tokens/s: the fastest, or whether it
/// is within what equal short runs were seen to differ by, and who else is.
[[nodiscard]] std::string tuneVerdict(const std::string& best, double times,
                                      const std::vector<std::string>& asGood);

/// Errors: of the first run, without which nothing is known.
[[nodiscard]] Result<TuneResult> tuneRun(const TuneRequest& request);

}  // namespace shardscope::cli
