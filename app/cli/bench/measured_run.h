// A run that is measured: `shardscope record` as a child, for a configuration whose `output` is
// set. What lies there already, complete and of the same configuration, is used again and not run:
// that makes every bench resumable.
//
// Beside the recording lies the run file that it was made from: RECORDING with .toml for .sscope.
// The child is in its own process group, so that a terminal's Ctrl-C comes to it once, through
// us: the first one ends it after its step with its recording kept, the second kills it. It dies
// with us.
#pragma once

#include "engine/run/config/run_file.h"
#include "storage/model/result.h"
#include "storage/recording/file/output_file.h"

#include <cstdint>
#include <string>

namespace shardscope::cli {

/// Of files beside recordings: one that is written by hand is not replaced.
inline constexpr storage::Replaceable kSavedRunFile{"a run file that Shardscope wrote",
                                                    run::isSavedRunFile};

struct MeasuredRun {
    std::string recording;   ///< path
    bool layThere = false;   ///< measured by an earlier call
    std::int32_t steps = 0;  ///< that were trained
};

/// What lies at an output before a run.
enum class OutputState : std::uint8_t {
    kNothing,   ///< or a recording that was not finished: it is replaced
    kMeasured,  ///< a finished recording of this configuration, program and machine
};
/// kUsage: something that is not ours to replace lies there: no recording, or a finished one of
/// something else; the sentence says what differs. Of a configuration as `record` takes it.
[[nodiscard]] Result<OutputState> lookAtOutput(const run::RunConfig& config);

/// From the main thread, with an InterruptGuard alive. Errors: kInterrupted, the recording is kept
/// up to there; what lookAtOutput() says, but with `force` any recording is replaced; else what
/// `record` ended with, in its words.
[[nodiscard]] Result<MeasuredRun> measureRun(const run::RunConfig& config, bool force = false);

}  // namespace shardscope::cli
