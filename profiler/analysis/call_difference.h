// Stacks of two runs as one tree, told apart by what they took in either: for differential flame
// graphs. Pure values.
#pragma once

#include "profiler/analysis/call_tree.h"

#include <vector>

namespace shardscope::analysis {

struct CallDifference {
    /// ns of a frame; 0 where the other run alone has it.
    struct Times {
        double before = 0, after = 0;  ///< with what ran within it
        double selfBefore = 0, selfAfter = 0;
    };
    CallTree tree;             ///< stacks of both: names, parents and tags; its times mean nothing
    std::vector<Times> times;  ///< of each of its frames
};

/// Of trees that were added up. Frames are the same if all names from the root on are. Times are
/// divided by `beforeParts` and `afterParts`, such as numbers of steps: positive.
[[nodiscard]] CallDifference callDifference(const CallTree& before, double beforeParts,
                                            const CallTree& after, double afterParts);

}  // namespace shardscope::analysis
