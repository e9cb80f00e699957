// Pyramid segments of a recording: which there are, and decoded ones, with a bounded cache.
//
// Lives on the reader's thread like EventSource; segments are decoded on several.
#pragma once

#include "storage/recording/file/chunk_directory.h"
#include "storage/recording/file/worker_pool.h"
#include "storage/recording/read/blob_loader.h"
#include "storage/recording/read/generation.h"

#include <map>
#include <memory>
#include <unordered_map>
#include <variant>
#include <vector>

namespace shardscope::storage {

template <class Summary>
using SummariesPtr = std::shared_ptr<const std::vector<Summary>>;
using AnySummaries =
    std::variant<SummariesPtr<columns::SpanSummary>, SummariesPtr<columns::CounterSummary>>;

/// Decoded segments that a request works on.
class LoadedSegments {
public:
    template <class Summary>
    [[nodiscard]] const std::vector<Summary>& summaries(std::int64_t id) const {
        return *std::get<SummariesPtr<Summary>>(m_summaries.at(id));
    }

private:
    friend class PyramidSource;
    std::unordered_map<std::int64_t, AnySummaries> m_summaries;
};

class PyramidSource {
public:
    /// Call before a request. Rows of a growing recording change: nothing is kept of them.
    void begin(bool growing);

    /// All segments of a lane, by level and segment; valid until the next begin().
    Result<const std::vector<SegmentEntry>*> segments(Connection& connection, RankId rank,
                                                      LaneId lane);

    struct Wanted {
        std::int64_t id = 0;  ///< of a SegmentEntry
        bool spans = true;    ///< else samples
    };
    /// Adds segments to `loaded`; kCancelled as soon as `generation` is superseded.
    Result<void> load(Connection& connection, WorkerPool& pool, const std::vector<Wanted>& wanted,
                      const Generation& generation, LoadedSegments& loaded);

private:
    static constexpr std::size_t kCacheBytes = 32u << 20;

    std::map<std::pair<RankId, LaneId>, std::vector<SegmentEntry>> m_lanes;
    BoundedCache<AnySummaries> m_cache{kCacheBytes};
};

}  // namespace shardscope::storage
