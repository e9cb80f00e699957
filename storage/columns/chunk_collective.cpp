#include "storage/columns/chunk_frame.h"
#include "storage/columns/envelope.h"

namespace shardscope::columns {
namespace {

enum Column {
    kStart,
    kEnd,
    kIssue,
    kOperation,
    kDtype,
    kCause,
    kLayer,
    kStep,
    kGroup,
    kSequence,
    kSize,
    kAlgorithm,
    kProtocol,
    kArrivals,
    kColumns
};

bool inRange(std::int64_t value) {
    return value >= -kValueLimit && value <= kValueLimit;
}

/// Arrivals of all events in one column, relative to each event's own start.
std::vector<std::int64_t> flattenArrivals(std::span<const CollectiveEvent> events) {
    std::vector<std::int64_t> flat;
    for (const CollectiveEvent& event : events)
        for (const Timestamp arrival : event.arrivals) flat.push_back(arrival.ns - event.start.ns);
    return flat;
}

bool readEvent(const BlockReader<kColumns>& block, std::size_t i, CollectiveEvent& event) {
    Narrow narrow;
    const auto value = [&](Column column) { return block.column(column)[i]; };
    if (!inRange(value(kStart)) || !inRange(value(kEnd)) || !inRange(value(kIssue)) ||
        value(kEnd) < 0 || value(kSize) < kUnknownSize.count || value(kSize) > kValueLimit)
        return false;
    event.start.ns = value(kStart);
    event.end.ns = event.start.ns + value(kEnd);
    event.issue.ns = event.start.ns + value(kIssue);
    narrow.store(value(kOperation), event.operation);
    narrow.store(value(kDtype), event.dtype);
    narrow.store(value(kCause), event.cause);
    narrow.store(value(kLayer), event.layer.value);
    narrow.store(value(kStep), event.step.value);
    narrow.store(value(kGroup), event.group);
    event.sequence = static_cast<std::uint64_t>(value(kSequence));
    event.size.count = value(kSize);
    narrow.store(value(kAlgorithm), event.algorithm.value);
    narrow.store(value(kProtocol), event.protocol.value);
    return narrow.fits();
}

/// Gives every event its share of the flat arrivals column.
bool readArrivals(ByteReader& in, const std::vector<std::int64_t>& counts,
                  std::vector<CollectiveEvent>& events) {
    std::size_t total = 0;
    for (const std::int64_t count : counts) {
        if (count < 0 || count > static_cast<std::int64_t>(kMaxRawBytes / 8)) return false;
        total += static_cast<std::size_t>(count);
    }
    std::vector<std::int64_t> flat;
    if (total > kMaxRawBytes / 8 || !decodeColumn(in, total, flat) || in.left() != 0) return false;
    auto next = flat.begin();
    for (std::size_t i = 0; i < events.size(); ++i) {
        const auto count = static_cast<std::ptrdiff_t>(counts[i]);
        if (!std::all_of(next, next + count, inRange)) return false;
        events[i].arrivals = {
            static_cast<std::size_t>(count), [&](std::size_t place) {
                return Timestamp{events[i].start.ns + next[static_cast<std::ptrdiff_t>(place)]};
            }};
        next += count;
    }
    return true;
}

}  // namespace

ChunkBytes encodeCollectives(RankId rank, std::span<const CollectiveEvent> events) {
    ColumnWriter<CollectiveEvent> columns(events);
    columns.add([](const CollectiveEvent& e) { return e.start.ns; });
    columns.add([](const CollectiveEvent& e) { return e.end.ns - e.start.ns; });
    columns.add([](const CollectiveEvent& e) { return e.issue.ns - e.start.ns; });
    columns.add([](const CollectiveEvent& e) { return e.operation; });
    columns.add([](const CollectiveEvent& e) { return e.dtype; });
    columns.add([](const CollectiveEvent& e) { return e.cause; });
    columns.add([](const CollectiveEvent& e) { return e.layer.value; });
    columns.add([](const CollectiveEvent& e) { return e.step.value; });
    columns.add([](const CollectiveEvent& e) { return e.group; });
    columns.add([](const CollectiveEvent& e) { return e.sequence; });
    columns.add([](const CollectiveEvent& e) { return e.size.count; });
    columns.add([](const CollectiveEvent& e) { return e.algorithm.value; });
    columns.add([](const CollectiveEvent& e) { return e.protocol.value; });
    columns.add([](const CollectiveEvent& e) { return e.arrivals.size(); });
    encodeColumn(flattenArrivals(events), columns.payload());
    ChunkHeader header{kCodecVersion,
                       EventKind::kCollective,
                       rank,
                       static_cast<std::uint32_t>(events.size()),
                       events.front().start,
                       events.front().end,
                       {}};
    for (const CollectiveEvent& event : events) header.last = std::max(header.last, event.end);
    return closeChunk(header, columns.payload());
}

Result<std::vector<CollectiveEvent>> decodeCollectives(std::span<const std::byte> chunk) {
    auto open = openChunk(chunk, EventKind::kCollective, kMaxRawBytes);
    if (!open) return failure(open);
    ByteReader in(open->payload);
    BlockReader<kColumns> blocks;
    std::vector<CollectiveEvent> events(open->header.count);
    if (!blocks.open(in, events.size()))
        return badChunk(EventKind::kCollective, "holds malformed columns");
    std::vector<std::int64_t> arrivalCounts;
    Timestamp previous = open->header.first;
    Timestamp last = previous;
    for (std::size_t at = 0; const std::size_t size = blocks.next();) {
        for (std::size_t i = 0; i < size; ++i, ++at) {
            if (!readEvent(blocks, i, events[at]) || events[at].start < previous)
                return badChunk(EventKind::kCollective, "holds values out of range or order");
            previous = events[at].start;
            last = std::max(last, events[at].end);
            arrivalCounts.push_back(blocks.column(kArrivals)[i]);
        }
    }
    if (!readArrivals(in, arrivalCounts, events))
        return badChunk(EventKind::kCollective, "holds malformed arrivals");
    if (events.front().start != open->header.first || last != open->header.last)
        return badChunk(EventKind::kCollective, "does not match its header");
    return events;
}

}  // namespace shardscope::columns
