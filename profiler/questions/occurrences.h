// Finds single spans of a name, to be shown where they ran.
#pragma once

#include "profiler/questions/read_stacks.h"

#include <optional>
#include <string_view>

namespace shardscope::questions {

struct Occurrence {
    LaneAddress lane;
    TimeRange range;
    StepIndex step = kNoStep;
};
struct Occurrences {
    Occurrence longest, first;
};
/// Of the lanes of a kind, within the selection. None: there is none of it.
[[nodiscard]] Result<std::optional<Occurrences>> readOccurrences(const Asked& asked, StackKind kind,
                                                                 std::string_view name);

}  // namespace shardscope::questions
