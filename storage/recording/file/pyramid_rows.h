// Pyramid segments as rows.
#pragma once

#include "storage/columns/pyramid.h"
#include "storage/sqlite/connection.h"

#include <vector>

namespace shardscope::storage {

/// One stored segment; empty when there is none.
template <class Summary>
Result<std::vector<Summary>> loadSegment(Connection& connection, RankId rank, LaneId lane,
                                         int level, std::int64_t segment);

/// A row of the table `pyramid` but for its summaries.
struct SegmentEntry {
    std::int64_t id = 0;
    int level = 0;
    std::int64_t segment = 0;
    std::int64_t throughChunk = 0;  ///< last chunk that is in it
};

/// All segments of a lane, by level and segment.
Result<std::vector<SegmentEntry>> listSegments(Statement& select, RankId rank, LaneId lane);
/// The statement for it.
Result<Statement> prepareListSegments(Connection& connection);

template <class Summary>
Result<std::vector<Summary>> decodeSummaries(std::span<const std::byte> blob);

}  // namespace shardscope::storage
