// What the Memory page asks and draws over time: bytes by category. Of one moment: moment_frame.h.
// Plain values, immutable once handed over.
#pragma once

#include "storage/model/recording.h"

#include <array>
#include <memory>
#include <vector>

namespace shardscope::desktop {

/// Bytes alive of one rank in `columns` equal stretches of `range`, by category. The sum of a
/// column is the highest total within it.
struct MemoryColumns {
    RankId rank;
    TimeRange range;
    std::array<std::vector<double>, kMemoryCategoryCount> categories;
    std::vector<double> reserved;  ///< by a device's allocator; empty: not recorded
    /// Steps that begin in the range, at least a column apart.
    struct StepBegin {
        Timestamp time;
        StepIndex step;
    };
    std::vector<StepBegin> steps;
    [[nodiscard]] std::size_t size() const { return categories[0].size(); }
    [[nodiscard]] double total(std::size_t column) const;
};

struct MemoryQuery {
    TimeRange range;
    int columns = 1;
    std::vector<RankId> ranks;  ///< those with memory events
};

struct MemoryFrame {
    MemoryQuery query;
    std::vector<MemoryColumns> ranks;
};

using MemoryFramePtr = std::shared_ptr<const MemoryFrame>;

}  // namespace shardscope::desktop
