// The processes of a recorded program, each below the one that started it: as a table, and in
// words. Pure.
#pragma once

#include "profiler/questions/answer/answer.h"
#include "storage/model/process_facts.h"

#include <cstddef>
#include <string>
#include <vector>

namespace shardscope::questions {

/// Index of a row, and how many of those above it started it.
struct PlacedProcess {
    std::size_t index = 0;
    int depth = 0;
};
/// By start; what was started by none of them stands outermost.
[[nodiscard]] std::vector<PlacedProcess> processTree(const std::vector<ProcessFacts>& processes);

/// "rank 3", "rank 3, attempt 2", "loader".
[[nodiscard]] std::string processTitle(const ProcessFacts& process);
/// "exit 1", "signal 9", "outlived the recording", "unknown".
[[nodiscard]] std::string processEnd(const ProcessFacts& process);

/// In the order of the tree, with titles indented by it.
[[nodiscard]] Table processTable(const std::vector<ProcessFacts>& processes);

}  // namespace shardscope::questions
