#include "storage/columns/chunk_frame.h"

namespace shardscope::columns {
namespace {

constexpr std::size_t kMaxBytesAnEvent = 10 * 8;
enum Column {
    kStart,
    kDuration,
    kLane,
    kName,
    kArguments,
    kCorrelation,
    kStep,
    kLayer,
    kPhase,
    kDepth,
    kColumns
};

}  // namespace

ChunkBytes encodeSpans(RankId rank, std::span<const SpanEvent> events) {
    ColumnWriter<SpanEvent> columns(events);
    columns.add([](const SpanEvent& e) { return e.start.ns; });
    columns.add([](const SpanEvent& e) { return e.duration.ns; });
    columns.add([](const SpanEvent& e) { return e.lane.value; });
    columns.add([](const SpanEvent& e) { return e.name.value; });
    columns.add([](const SpanEvent& e) { return e.arguments.value; });
    columns.add([](const SpanEvent& e) { return e.correlation; });
    columns.add([](const SpanEvent& e) { return e.step.value; });
    columns.add([](const SpanEvent& e) { return e.layer.value; });
    columns.add([](const SpanEvent& e) { return e.phase; });
    columns.add([](const SpanEvent& e) { return e.depth; });
    ChunkHeader header{kCodecVersion,
                       EventKind::kSpan,
                       rank,
                       static_cast<std::uint32_t>(events.size()),
                       events.front().start,
                       events.front().end(),
                       countLanes(events)};
    for (const SpanEvent& event : events) header.last = std::max(header.last, event.end());
    return closeChunk(header, columns.payload());
}

Result<std::vector<SpanEvent>> decodeSpans(std::span<const std::byte> chunk) {
    auto open = openChunk(chunk, EventKind::kSpan, kMaxBytesAnEvent);
    if (!open) return failure(open);
    ByteReader in(open->payload);
    BlockReader<kColumns> blocks;
    std::vector<SpanEvent> events(open->header.count);
    if (!blocks.open(in, events.size()) || in.left() != 0)
        return badChunk(EventKind::kSpan, "holds malformed columns");
    Narrow narrow;
    std::int64_t previous = open->header.first.ns;
    std::int64_t last = previous;
    for (SpanEvent* event = events.data(); const std::size_t size = blocks.next();) {
        for (std::size_t i = 0; i < size; ++i, ++event) {
            const std::int64_t start = blocks.column(kStart)[i];
            const std::int64_t duration = blocks.column(kDuration)[i];
            narrow.require(start >= previous && start <= kValueLimit && duration >= 0 &&
                           duration <= kValueLimit);
            if (!narrow.fits()) break;
            previous = start;
            last = std::max(last, start + duration);
            event->start.ns = start;
            event->duration.ns = duration;
            narrow.store(blocks.column(kLane)[i], event->lane.value);
            narrow.store(blocks.column(kName)[i], event->name.value);
            narrow.store(blocks.column(kArguments)[i], event->arguments.value);
            event->correlation = static_cast<std::uint64_t>(blocks.column(kCorrelation)[i]);
            narrow.store(blocks.column(kStep)[i], event->step.value);
            narrow.store(blocks.column(kLayer)[i], event->layer.value);
            narrow.store(blocks.column(kPhase)[i], event->phase);
            narrow.store(blocks.column(kDepth)[i], event->depth);
        }
        if (!narrow.fits()) break;
    }
    if (!narrow.fits()) return badChunk(EventKind::kSpan, "holds values out of range or order");
    if (events.front().start != open->header.first || last != open->header.last.ns)
        return badChunk(EventKind::kSpan, "does not match its header");
    return events;
}

}  // namespace shardscope::columns
