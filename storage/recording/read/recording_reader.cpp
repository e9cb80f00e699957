#include "storage/recording/read/recording_reader.h"

#include "storage/recording/read/questions.h"

#include <cstdlib>
#include <utility>

namespace shardscope::storage {
namespace {

template <class Asked>
Result<typename Asked::Answer> ask(RecordingReader& reader, const Asked& asked) {
    typename Asked::Answer answer{};
    const auto done = reader.answer(AnyRequest(Request<Asked>{asked, answer}));
    if (!done) return failure(done);
    return answer;
}

template <class Slice>
Result<std::vector<Slice>> onlyOf(Result<std::vector<std::vector<Slice>>> lanes) {
    if (!lanes) return failure(lanes);
    return std::move(lanes->front());
}

}  // namespace

Result<RecordingSummary> RecordingReader::summary() {
    return ask(*this, Summary{});
}
Result<RankEvents> RecordingReader::rankEvents(RankId rank, TimeRange range) {
    return ask(*this, EventsOfRank{rank, range});
}
Result<std::vector<CollectiveEvent>> RecordingReader::collectives(
    RankId rank, const std::vector<CollectiveKey>& keys) {
    return ask(*this, CollectivesOfKeys{rank, keys});
}
Result<std::vector<SpanEvent>> RecordingReader::spans(RankId rank, LaneId lane, TimeRange range) {
    return ask(*this, SpansOfLane{rank, lane, range});
}
Result<std::vector<SpanEvent>> RecordingReader::spansNaming(RankId rank, LaneId lane,
                                                            TimeRange range,
                                                            const std::vector<StringId>& texts) {
    return ask(*this, SpansNaming{rank, lane, range, texts});
}
Result<std::vector<std::vector<LaneSlice>>> RecordingReader::spans(
    const std::vector<LaneAddress>& lanes, const View& view) {
    return ask(*this, SpansInView{lanes, view});
}
Result<std::vector<std::vector<CounterSlice>>> RecordingReader::counters(
    const std::vector<LaneAddress>& lanes, const View& view) {
    return ask(*this, CountersInView{lanes, view});
}
Result<std::vector<LaneSlice>> RecordingReader::slices(RankId rank, LaneId lane, TimeRange range,
                                                       Duration resolution) {
    return onlyOf(spans({{rank, lane}}, {range, resolution, {}}));
}
Result<std::vector<CounterSlice>> RecordingReader::counter(RankId rank, LaneId lane,
                                                           TimeRange range, Duration resolution) {
    return onlyOf(counters({{rank, lane}}, {range, resolution, {}}));
}
Result<std::vector<CounterEvent>> RecordingReader::samples(RankId rank, LaneId lane,
                                                           TimeRange range) {
    return ask(*this, SamplesOfLane{rank, lane, range});
}
Result<std::vector<MemoryEvent>> RecordingReader::memoryEvents(RankId rank, TimeRange range) {
    return ask(*this, MemoryOfRank{rank, range});
}
Result<std::vector<MemoryEvent>> RecordingReader::liveMemory(RankId rank, Timestamp time) {
    return ask(*this, LiveMemory{rank, time});
}
Result<std::vector<InstantEvent>> RecordingReader::instants(RankId rank, LaneId lane,
                                                            TimeRange range) {
    return ask(*this, InstantsOfLane{rank, lane, range});
}
Result<std::vector<FlowEvent>> RecordingReader::flows(RankId rank, LaneId lane, TimeRange range) {
    return ask(*this, FlowsOfLane{rank, lane, range});
}
Result<std::vector<FlowArrow>> RecordingReader::arrowsOf(RankId rank, LaneId lane, Timestamp start,
                                                         std::uint8_t depth) {
    return ask(*this, ArrowsOfSpan{rank, lane, start, depth});
}
Result<TableResult> RecordingReader::query(const std::string& sql, std::uint64_t mostRows,
                                           const Generation& generation) {
    return ask(*this, SqlQuery{sql, mostRows, generation});
}

Result<RankStrings> readStrings(RecordingReader& reader, RankId rank) {
    const std::string number = std::to_string(rank.value);
    auto table = reader.query("SELECT id, text FROM strings WHERE rank=" + number + " ORDER BY id");
    if (!table) return failure(table);
    RankStrings strings;
    strings.texts.reserve(table->rows.size());
    for (auto& row : table->rows) {
        if (!row[0] || !row[1]) continue;
        const auto id = static_cast<std::uint32_t>(std::strtoul(row[0]->c_str(), nullptr, 10));
        strings.texts.emplace_back(StringId{id}, std::move(*row[1]));
    }
    // older recordings have no such table
    const auto arguments =
        reader.query("SELECT 1 FROM arguments WHERE rank=" + number + " LIMIT 1");
    strings.hasArguments = arguments && !arguments->rows.empty();
    return strings;
}

}  // namespace shardscope::storage
