#include "storage/columns/chunk_frame.h"

#include <bit>
#include <cmath>

namespace shardscope::columns {
namespace {

constexpr std::size_t kMaxBytesAnEvent = 4 * 8;
enum ValueForm : std::uint8_t { kIntegers = 0, kBits = 1 };

/// The value as an integer when that loses nothing (bytes, nanoseconds, counts).
bool isInteger(double value) {
    if (!(std::abs(value) < 9.0e15)) return false;
    const auto integer = static_cast<std::int64_t>(value);
    return std::bit_cast<std::uint64_t>(static_cast<double>(integer)) ==
           std::bit_cast<std::uint64_t>(value);
}

}  // namespace

ChunkBytes encodeCounters(RankId rank, std::span<const CounterEvent> events) {
    ColumnWriter<CounterEvent> columns(events);
    columns.add([](const CounterEvent& e) { return e.time.ns; });
    columns.add([](const CounterEvent& e) { return e.lane.value; });
    const bool integers = std::all_of(events.begin(), events.end(),
                                      [](const CounterEvent& e) { return isInteger(e.value); });
    putNumber(columns.payload(), integers ? kIntegers : kBits);
    if (integers)
        columns.add([](const CounterEvent& e) { return static_cast<std::int64_t>(e.value); });
    else
        columns.add([](const CounterEvent& e) { return std::bit_cast<std::int64_t>(e.value); });
    const ChunkHeader header{kCodecVersion,
                             EventKind::kCounter,
                             rank,
                             static_cast<std::uint32_t>(events.size()),
                             events.front().time,
                             events.back().time,
                             countLanes(events)};
    return closeChunk(header, columns.payload());
}

Result<std::vector<CounterEvent>> decodeCounters(std::span<const std::byte> chunk) {
    auto open = openChunk(chunk, EventKind::kCounter, kMaxBytesAnEvent);
    if (!open) return failure(open);
    ByteReader in(open->payload);
    const std::size_t count = open->header.count;
    std::vector<std::int64_t> times;
    std::vector<std::int64_t> lanes;
    std::vector<std::int64_t> values;
    bool good = decodeColumn(in, count, times) && decodeColumn(in, count, lanes);
    const auto form = in.number<std::uint8_t>();
    good = good && form <= kBits && decodeColumn(in, count, values) && in.left() == 0;
    if (!good) return badChunk(EventKind::kCounter, "holds malformed columns");
    std::vector<CounterEvent> events(count);
    Narrow narrow;
    std::int64_t previous = open->header.first.ns;
    for (std::size_t i = 0; i < count; ++i) {
        narrow.require(times[i] >= previous && times[i] <= kValueLimit);
        previous = times[i];
        events[i].time.ns = times[i];
        narrow.store(lanes[i], events[i].lane.value);
        events[i].value =
            form == kIntegers ? static_cast<double>(values[i]) : std::bit_cast<double>(values[i]);
    }
    if (!narrow.fits()) return badChunk(EventKind::kCounter, "holds values out of range or order");
    if (events.front().time != open->header.first || events.back().time != open->header.last)
        return badChunk(EventKind::kCounter, "does not match its header");
    return events;
}

}  // namespace shardscope::columns
