#include "storage/recording/file/chunk_directory.h"

namespace shardscope::storage {

Result<void> ChunkDirectory::refresh(Connection& connection) {
    // The first time all chunks are new: then the covering index spares reading their blobs.
    constexpr const char* kAll =
        "SELECT id, kind, rank, lane, first_ns, last_ns, count, bytes"
        " FROM chunks INDEXED BY chunks_directory WHERE kind > 0";
    constexpr const char* kNew =
        "SELECT id, kind, rank, lane, first_ns, last_ns, count, bytes"
        " FROM chunks WHERE id > ? ORDER BY id";
    auto select = connection.prepare(m_lastId == 0 ? kAll : kNew);
    if (!select) return failure(select);
    if (m_lastId != 0) select->bind(1, m_lastId);
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) return {};
        const ChunkEntry entry{select->integer(0),
                               {select->integer(4)},
                               {select->integer(5)},
                               static_cast<std::uint32_t>(select->integer(6))};
        const auto kind = static_cast<EventKind>(select->integer(1));
        const RankId rank{static_cast<std::uint32_t>(select->integer(2))};
        const LaneId lane{static_cast<std::uint32_t>(select->integer(3))};
        m_lanes[{kind, rank, lane}].push_back(entry);
        m_lastId = std::max(m_lastId, entry.id);
        m_bytes += {select->integer(7)};
        m_counts.of(kind) += entry.count;
        if (m_bounds == TimeRange{}) m_bounds = {entry.first, entry.last};
        m_bounds.begin = std::min(m_bounds.begin, entry.first);
        m_bounds.end = std::max(m_bounds.end, entry.last);
    }
}

const std::vector<ChunkEntry>& ChunkDirectory::chunks(EventKind kind, RankId rank,
                                                      LaneId lane) const {
    static const std::vector<ChunkEntry> none;
    const auto at = m_lanes.find({kind, rank, lane});
    return at == m_lanes.end() ? none : at->second.all();
}

std::vector<ChunkDirectory::Lane> ChunkDirectory::lanes() const {
    std::vector<Lane> lanes;
    for (const auto& [key, chunks] : m_lanes)
        lanes.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), &chunks.all()});
    return lanes;
}

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
