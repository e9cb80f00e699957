#include "storage/recording/read/pyramid_source.h"

#include "storage/recording/read/blob_loader.h"

namespace shardscope::storage {
namespace {

using columns::CounterSummary;
using columns::SpanSummary;

using Decoded = Result<std::pair<AnySummaries, std::size_t>>;

template <class Summary>
Decoded decodeAs(std::span<const std::byte> bytes) {
    auto summaries = decodeSummaries<Summary>(bytes);
    if (!summaries) return failure(summaries);
    const std::size_t size = summaries->size() * sizeof(Summary) + 256;
    return std::pair<AnySummaries, std::size_t>(
        std::make_shared<const std::vector<Summary>>(std::move(*summaries)), size);
}

Decoded decode(const PyramidSource::Wanted& wanted, std::span<const std::byte> bytes) {
    return wanted.spans ? decodeAs<SpanSummary>(bytes) : decodeAs<CounterSummary>(bytes);
}

}  // namespace

void PyramidSource::begin(bool growing) {
    if (!growing) return;
    m_lanes.clear();
    m_cache.clear();
}

Result<const std::vector<SegmentEntry>*> PyramidSource::segments(Connection& connection,
                                                                 RankId rank, LaneId lane) {
    const auto known = m_lanes.find({rank, lane});
    if (known != m_lanes.end()) return &known->second;
    auto select = prepareListSegments(connection);
    if (!select) return failure(select);
    auto listed = listSegments(*select, rank, lane);
    if (!listed) return failure(listed);
    return &(m_lanes[{rank, lane}] = std::move(*listed));
}

Result<void> PyramidSource::load(Connection& connection, WorkerPool& pool,
                                 const std::vector<Wanted>& wanted, const Generation& generation,
                                 LoadedSegments& loaded) {
    auto select = connection.prepare("SELECT data FROM pyramid WHERE id = ?");
    if (!select) return failure(select);
    return loadBlobs(*select, pool, wanted, generation, decode, m_cache, loaded.m_summaries);
}

}  // namespace shardscope::storage
