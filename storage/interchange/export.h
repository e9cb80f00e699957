// Recordings into other tools' formats.
#pragma once

#include "storage/model/recording.h"
#include "storage/model/result.h"
#include "storage/recording/file/output_file.h"
#include "storage/recording/read/recording_reader.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::interchange {

struct ExportOptions {
    std::string output;  ///< file; kineto with several ranks: folder, one file a rank
    bool overwrite = false;
    std::vector<std::string> inputs;  ///< what is read, and so never replaced
    std::optional<TimeRange> range;   ///< nothing: all
    /// First and last, where `range` is theirs: of each rank only the time of its own is written.
    std::optional<std::pair<StepIndex, StepIndex>> steps;
    std::vector<RankId> ranks;  ///< empty: all
    /// kineto: for HTA, which rounds fractions and counts all of a trace: of a run of ours from its
    /// first step on, where no range is given.
    bool integerMicroseconds = false;
    std::string view;                      ///< csv: "kernels", "operators", ...
    std::function<bool(double)> progress;  ///< returns false to cancel
};

/// Where an export of a kind goes.
[[nodiscard]] inline storage::OutputRequest outputOf(const ExportOptions& options,
                                                     const storage::Replaceable& kind) {
    return {options.output, options.overwrite, kind, options.inputs};
}

struct ExportAccount {
    std::uint64_t events = 0;
    std::vector<std::string> files;
    std::vector<std::string> notes;  ///< what the format cannot hold, in sentences
};

// A format's writer (formats.h) works atomically: an export that fails leaves no file.

/// Names for ExportOptions::view, with commas.
[[nodiscard]] std::string csvViews();

}  // namespace shardscope::interchange
