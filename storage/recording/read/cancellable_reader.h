// A recording that is read for a request: once a newer one has superseded it, every question ends
// with kCancelled. Whatever reads through it, analyses of many ranks among them, ends soon after.
//
// On the thread of the reader behind it, which must live as long.
#pragma once

#include "storage/recording/read/recording_reader.h"

#include <utility>

namespace shardscope::storage {

class CancellableReader : public RecordingReader {
public:
    CancellableReader(RecordingReader& reader, Generation generation)
        : m_reader(reader), m_generation(std::move(generation)) {}

    Result<RecordingSummary> summary() override;
    std::string_view text(RankId rank, StringId id) override;
    Result<RankEvents> rankEvents(RankId rank, TimeRange range) override;
    Result<std::vector<SpanEvent>> spans(RankId rank, LaneId lane, TimeRange range) override;
    Result<std::vector<SpanEvent>> spansNaming(RankId rank, LaneId lane, TimeRange range,
                                               const std::vector<StringId>& texts) override;
    Result<std::vector<std::vector<LaneSlice>>> spans(const std::vector<LaneAddress>& lanes,
                                                      const View& view) override;
    Result<std::vector<std::vector<CounterSlice>>> counters(const std::vector<LaneAddress>& lanes,
                                                            const View& view) override;
    Result<std::vector<CounterEvent>> samples(RankId rank, LaneId lane, TimeRange range) override;
    Result<std::vector<MemoryEvent>> memoryEvents(RankId rank, TimeRange range) override;
    Result<std::vector<MemoryEvent>> liveMemory(RankId rank, Timestamp time) override;
    Result<std::vector<InstantEvent>> instants(RankId rank, LaneId lane, TimeRange range) override;
    Result<std::vector<FlowEvent>> flows(RankId rank, LaneId lane, TimeRange range) override;
    Result<std::vector<FlowArrow>> arrowsOf(RankId rank, LaneId lane, Timestamp start,
                                            std::uint8_t depth) override;
    Result<TableResult> query(const std::string& sql) override;

private:
    RecordingReader& m_reader;
    Generation m_generation;
};

}  // namespace shardscope::storage
