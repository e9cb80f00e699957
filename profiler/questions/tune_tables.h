// What a tuning comes to, as a table for the command line and the window.
#pragma once

#include "profiler/questions/answer.h"

namespace shardscope::questions {

inline constexpr const char* kTuneSchema = "shardscope.tune/1";

/// Without rows: a run each, in their order.
[[nodiscard]] inline Table tunePathTable() {
    return {"path",
            "Runs in their order",
            {{"settings", "settings"},
             {"expected_tokens_per_s", "expected", Unit::kTokensPerSecond,
              "Before it was run: the forecast from the first run, corrected by what others took "
              "against theirs."},
             {"tokens_per_s", "measured", Unit::kTokensPerSecond, "Of the median step."},
             {"against_start_pct", "against the start", Unit::kChange},
             {"best", "best"}},
            {}};
}

}  // namespace shardscope::questions
