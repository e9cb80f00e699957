// What the Memory page asks of a recording. Runs on the loader thread; ends with kCancelled soon
// after a newer question was asked.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/pages/memory/moment_query.h"
#include "storage/model/recording.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/read/recording_reader.h"

#include <array>
#include <functional>
#include <memory>
#include <vector>

namespace shardscope::desktop {

// What the Memory page asks and draws over time: bytes by category. Of one moment: moment_frame.h.
// Plain values, immutable once handed over.

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

/// That some rank has some of, at some time.
[[nodiscard]] std::vector<MemoryCategory> drawnCategories(const MemoryFrame& frame);

using MemoryFramePtr = std::shared_ptr<const MemoryFrame>;

Result<MemoryFramePtr> loadMemory(storage::RecordingReader& reader, const OpenRecording& recording,
                                  const MemoryQuery& query, const storage::Generation& generation);

// Turns counter slices into the columns of a stacked picture, and live blocks into owners. Pure.

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
