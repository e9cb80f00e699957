// Everything that a person should be told of a recording, in one list: what the run and its
// recording noted themselves, what is missing, and what about the run is worth a look. Pure.
#pragma once

#include "profiler/analysis/report.h"

#include <string>
#include <vector>

namespace shardscope::analysis {

/// Most severe first; titles and details are sentences. Many of one kind are one with a count.
[[nodiscard]] std::vector<RunFinding> notices(const Report& report);

/// The text with a capital and a full stop; empty if it is.
[[nodiscard]] std::string sentence(std::string text);

/// How many of them ask for something to be done: those that are more than a note.
[[nodiscard]] int problemCount(const std::vector<RunFinding>& notices);

}  // namespace shardscope::analysis
