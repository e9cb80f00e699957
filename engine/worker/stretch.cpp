#include "engine/worker/stretch.h"

namespace shardscope::worker {

Stretch stretchOf(Phase phase, Stretch current) {
    switch (phase) {
        case Phase::kForward:
            return Stretch::kForward;
        case Phase::kHead:
            return Stretch::kHead;
        case Phase::kBackward:
            return Stretch::kBackward;
        case Phase::kClip:
        case Phase::kOptimizer:
            return Stretch::kOptimizer;
        default:
            return current;  // waits belong to where they happen
    }
}

}  // namespace shardscope::worker
