// Pyramid segments as rows, and what to draw of a lane from them.
#pragma once

#include "storage/columns/pyramid.h"
#include "storage/recording/event_source.h"

#include <vector>

namespace shardscope::storage {

/// One stored segment; empty when there is none.
template <class Summary>
Result<std::vector<Summary>> loadSegment(Connection& connection, RankId rank, LaneId lane,
                                         int level, std::int64_t segment);

/// Everything that level `level` shows of a lane within `range`, by start: stored segments, and
/// for what they do not cover yet the chunks themselves. In a `finalised` recording a segment
/// that was not stored is empty on all but the finest levels.
struct PyramidQuery {
    RankId rank;
    LaneId lane;
    TimeRange range;
    int level = 0;
    bool finalised = false;
};
Result<std::vector<columns::SpanSummary>> spanSummaries(Connection& connection, EventSource& events,
                                                        const PyramidQuery& query);
Result<std::vector<columns::CounterSummary>> counterSummaries(Connection& connection,
                                                              EventSource& events,
                                                              const PyramidQuery& query);

}  // namespace shardscope::storage
