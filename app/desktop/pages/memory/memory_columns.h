// Turns counter slices into the columns of a stacked picture, and live blocks into owners. Pure.
#pragma once

#include "app/desktop/pages/memory/memory_frame.h"
#include "app/desktop/pages/memory/moment_frame.h"
#include "storage/recording/read/recording_reader.h"

#include <functional>
#include <vector>

namespace shardscope::desktop {

/// Columns whose sums are the highest total of their time. Categories peak at different
/// moments of a column, so each is placed between its last value and its own highest.
class MemoryColumnsBuilder {
public:
    MemoryColumnsBuilder(RankId rank, TimeRange range, int columns);
    void addCategory(MemoryCategory category, const std::vector<storage::CounterSlice>& slices);
    void addReserved(const std::vector<storage::CounterSlice>& slices);
    [[nodiscard]] MemoryColumns build(const std::vector<storage::CounterSlice>& total) const;

private:
    struct Track {
        std::vector<double> highest;
        std::vector<double> last;
    };
    [[nodiscard]] Track resample(const std::vector<storage::CounterSlice>& slices) const;

    RankId m_rank;
    TimeRange m_range;
    std::size_t m_columns;
    std::array<Track, kMemoryCategoryCount> m_tracks;
    Track m_reserved;
};

/// Blocks with the same owner, layer and category become one row; largest first.
[[nodiscard]] std::vector<BlockOwner> groupByOwner(const std::vector<MemoryEvent>& alive,
                                                   const std::function<QString(StringId)>& text);

}  // namespace shardscope::desktop
