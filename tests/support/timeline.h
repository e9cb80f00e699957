// Timelines as drawings: the drawing is the documentation of an analysis test.
//
//   rank 0 compute  |..ffff..bb|     one character a tick of 1 us; letters are phases:
//   rank 0 comm     |..-aa..r..|     f forward, h head, b backward, o optimizer, c clip, d data,
//   rank 0 step     |ssssssssss|     g r w waits (gather, reduction, other), e evaluation,
//                                    x release; '.' is nothing
//
// "rank 0 kernels" and "rank 0 nccl" draw compute kernels and collectives' kernels of a device.
//
// A run of one letter is one event; '|' ends the drawing. In a comm line '-' is the time before
// the last rank arrived and the letter the moving of data (--aa is one collective): a gather,
// r reduction, c any other.
#pragma once

#include "storage/model/recording.h"

#include <string>
#include <vector>

namespace shardscope::test {

inline constexpr Duration kTick{1000};

struct Timeline {
    RecordingSummary summary;
    std::vector<RankEvents> ranks;  ///< by rank
};

/// Steps count from 0 in the order of the runs of 's' (a digit starts a new one: "sss1sss").
[[nodiscard]] Timeline drawTimeline(const std::string& drawing);

}  // namespace shardscope::test
