// The traces of one window become one recording, which says what this way lacks and which ranks
// are missing in it.
#pragma once

#include "engine/launch/kineto/session.h"
#include "storage/interchange/account.h"
#include "storage/model/result.h"
#include "storage/model/run_label.h"

#include <functional>
#include <string>
#include <vector>

namespace shardscope::cli {

struct WindowRecording {
    std::string output;
    bool overwrite = false;
    std::string commandLine;
    launch::kineto::Window window;
    std::function<bool(double)> progress;  ///< returns false to cancel
    std::vector<std::string> notes{};      ///< sentences about the program's environment
    RunLabel label{};
};

/// Imports what was taken. A trace that cannot be read moves from `taken` to `lost`. kRank where
/// nothing is left to record, kLaunch where no rank ever asked; of a recording that cannot be
/// written what interchange says.
Result<interchange::ImportAccount> recordWindow(launch::kineto::Outcome& outcome,
                                                const WindowRecording& recording);

/// "rank 1 (process 312) is not recorded: it ended before the window"
[[nodiscard]] std::string lossText(const launch::kineto::Lost& lost);
/// What was recorded, and what was not.
void tellRecorded(const interchange::ImportAccount& account, const launch::kineto::Outcome& outcome,
                  const std::string& output, bool quiet);
/// Why there is nothing at all, with the reason of each process.
[[nodiscard]] std::string nothingText(const launch::kineto::Outcome& outcome);

}  // namespace shardscope::cli
