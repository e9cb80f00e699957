#include "storage/recording/read/cancellable_reader.h"

namespace shardscope::storage {
namespace {

/// What `read` gives, unless nobody wants it any more.
template <class Read>
auto unlessSuperseded(const Generation& generation, Read read) -> decltype(read()) {
    if (generation.superseded())
        return failure(ErrorCode::kCancelled, "superseded by a newer request");
    return read();
}

}  // namespace

Result<RecordingSummary> CancellableReader::summary() {
    return unlessSuperseded(m_generation, [&] { return m_reader.summary(); });
}

std::string_view CancellableReader::text(RankId rank, StringId id) {
    return m_reader.text(rank, id);
}

Result<RankEvents> CancellableReader::rankEvents(RankId rank, TimeRange range) {
    return unlessSuperseded(m_generation, [&] { return m_reader.rankEvents(rank, range); });
}

Result<std::vector<SpanEvent>> CancellableReader::spans(RankId rank, LaneId lane, TimeRange range) {
    return unlessSuperseded(m_generation, [&] { return m_reader.spans(rank, lane, range); });
}

Result<std::vector<SpanEvent>> CancellableReader::spansNaming(RankId rank, LaneId lane,
                                                              TimeRange range,
                                                              const std::vector<StringId>& texts) {
    return unlessSuperseded(m_generation,
                            [&] { return m_reader.spansNaming(rank, lane, range, texts); });
}

Result<std::vector<std::vector<LaneSlice>>> CancellableReader::spans(
    const std::vector<LaneAddress>& lanes, const View& view) {
    return unlessSuperseded(m_generation, [&] { return m_reader.spans(lanes, view); });
}

Result<std::vector<std::vector<CounterSlice>>> CancellableReader::counters(
    const std::vector<LaneAddress>& lanes, const View& view) {
    return unlessSuperseded(m_generation, [&] { return m_reader.counters(lanes, view); });
}

Result<std::vector<CounterEvent>> CancellableReader::samples(RankId rank, LaneId lane,
                                                             TimeRange range) {
    return unlessSuperseded(m_generation, [&] { return m_reader.samples(rank, lane, range); });
}

Result<std::vector<MemoryEvent>> CancellableReader::memoryEvents(RankId rank, TimeRange range) {
    return unlessSuperseded(m_generation, [&] { return m_reader.memoryEvents(rank, range); });
}

Result<std::vector<MemoryEvent>> CancellableReader::liveMemory(RankId rank, Timestamp time) {
    return unlessSuperseded(m_generation, [&] { return m_reader.liveMemory(rank, time); });
}

Result<std::vector<InstantEvent>> CancellableReader::instants(RankId rank, LaneId lane,
                                                              TimeRange range) {
    return unlessSuperseded(m_generation, [&] { return m_reader.instants(rank, lane, range); });
}

Result<std::vector<FlowEvent>> CancellableReader::flows(RankId rank, LaneId lane, TimeRange range) {
    return unlessSuperseded(m_generation, [&] { return m_reader.flows(rank, lane, range); });
}

Result<std::vector<FlowArrow>> CancellableReader::arrowsOf(RankId rank, LaneId lane,
                                                           Timestamp start, std::uint8_t depth) {
    return unlessSuperseded(m_generation,
                            [&] { return m_reader.arrowsOf(rank, lane, start, depth); });
}

Result<TableResult> CancellableReader::query(const std::string& sql) {
    return unlessSuperseded(m_generation, [&] { return m_reader.query(sql); });
}

}  // namespace shardscope::storage
