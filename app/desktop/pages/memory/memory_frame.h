// What the Memory page asks and draws: bytes by category over time, and what made the peak.
// Plain values, immutable once handed over.
#pragma once

#include "storage/model/recording.h"

#include <QString>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// Bytes alive of one rank in `columns` equal stretches of `range`, by category. The sum of a
/// column is the highest total within it.
struct MemoryColumns {
    RankId rank;
    TimeRange range;
    std::array<std::vector<double>, kMemoryCategoryCount> categories;
    std::vector<double> reserved;  ///< by a device's allocator; empty: not recorded
    [[nodiscard]] std::size_t size() const { return categories[0].size(); }
    [[nodiscard]] double total(std::size_t column) const;
};

/// Blocks alive at the peak, grouped by owner and layer.
struct PeakOwner {
    QString owner;
    LayerIndex layer = kNoLayer;
    MemoryCategory category = MemoryCategory::kOther;
    std::int64_t blocks = 0;
    Bytes size;
};

struct MemoryQuery {
    TimeRange range;
    int columns = 1;
    std::vector<RankId> ranks;  ///< those with memory events
    std::optional<RankId> peakRank;
    Timestamp peakTime;
};

struct MemoryFrame {
    MemoryQuery query;
    std::vector<MemoryColumns> ranks;
    std::vector<PeakOwner> peakOwners;  ///< of the rank with the highest peak, largest first
    QString moment;                     ///< what that rank did then
};

using MemoryFramePtr = std::shared_ptr<const MemoryFrame>;

}  // namespace shardscope::desktop
