#include "storage/columns/chunk_frame.h"
#include "storage/columns/column.h"

namespace shardscope::columns {
namespace {

constexpr std::size_t kMaxBytesAnEvent = 4 * 8;

}  // namespace

ChunkBytes encodeCounters(RankId rank, std::span<const CounterEvent> events) {
    ColumnWriter<CounterEvent> columns(events);
    columns.add([](const CounterEvent& e) { return e.time.ns; });
    columns.add([](const CounterEvent& e) { return e.lane.value; });
    std::vector<double> values;
    for (const CounterEvent& event : events) values.push_back(event.value);
    encodeDoubles(values, columns.payload());
    return closeChunk(momentsHeader(EventKind::kCounter, rank, events), columns.payload());
}

Result<std::vector<CounterEvent>> decodeCounters(std::span<const std::byte> chunk) {
    auto open = openChunk(chunk, EventKind::kCounter, kMaxBytesAnEvent);
    if (!open) return failure(open);
    ByteReader in(open->payload);
    const std::size_t count = open->header.count;
    std::vector<std::int64_t> times;
    std::vector<std::int64_t> lanes;
    std::vector<double> values;
    const bool good = decodeColumn(in, count, times) && decodeColumn(in, count, lanes) &&
                      decodeDoubles(in, count, values) && in.left() == 0;
    if (!good) return badChunk(EventKind::kCounter, "holds malformed columns");
    std::vector<CounterEvent> events(count);
    Narrow narrow;
    std::int64_t previous = open->header.first.ns;
    for (std::size_t i = 0; i < count; ++i) {
        narrow.require(times[i] >= previous && times[i] <= kValueLimit);
        previous = times[i];
        events[i].time.ns = times[i];
        narrow.store(lanes[i], events[i].lane.value);
        events[i].value = values[i];
    }
    if (!narrow.fits()) return badChunk(EventKind::kCounter, "holds values out of range or order");
    if (events.front().time != open->header.first || events.back().time != open->header.last)
        return badChunk(EventKind::kCounter, "does not match its header");
    return events;
}

}  // namespace shardscope::columns
