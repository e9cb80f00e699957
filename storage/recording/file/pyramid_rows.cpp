#include "storage/recording/file/pyramid_rows.h"

namespace shardscope::storage {

using columns::CounterSummary;
using columns::SpanSummary;

template <>
Result<std::vector<SpanSummary>> decodeSummaries(std::span<const std::byte> blob) {
    return columns::decodeSpanSummaries(blob);
}

template <>
Result<std::vector<CounterSummary>> decodeSummaries(std::span<const std::byte> blob) {
    return columns::decodeCounterSummaries(blob);
}

template <class Summary>
Result<std::vector<Summary>> loadSegment(Connection& connection, RankId rank, LaneId lane,
                                         int level, std::int64_t segment) {
    auto select = connection.prepare(
        "SELECT data FROM pyramid WHERE rank=? AND lane=? AND level=? AND segment=?");
    if (!select) return failure(select);
    auto row = select->bind(1, std::int64_t{rank.value})
                   .bind(2, std::int64_t{lane.value})
                   .bind(3, std::int64_t{level})
                   .bind(4, segment)
                   .step();
    if (!row) return failure(row);
    if (!*row) return std::vector<Summary>{};
    return decodeSummaries<Summary>(select->blob(0));
}

template Result<std::vector<SpanSummary>> loadSegment(Connection&, RankId, LaneId, int,
                                                      std::int64_t);
template Result<std::vector<CounterSummary>> loadSegment(Connection&, RankId, LaneId, int,
                                                         std::int64_t);

Result<Statement> prepareListSegments(Connection& connection) {
    return connection.prepare(
        "SELECT id, level, segment, through_chunk FROM pyramid WHERE rank=? AND lane=?"
        " ORDER BY level, segment");
}

Result<std::vector<SegmentEntry>> listSegments(Statement& select, RankId rank, LaneId lane) {
    select.bind(1, std::int64_t{rank.value}).bind(2, std::int64_t{lane.value});
    std::vector<SegmentEntry> entries;
    while (true) {
        auto row = select.step();
        if (!row) return failure(row);
        if (!*row) return entries;
        // A level that does not exist, of a damaged file, is met by no view.
        entries.push_back({select.integer(0), static_cast<int>(select.integer(1)),
                           select.integer(2), select.integer(3)});
    }
}

}  // namespace shardscope::storage
