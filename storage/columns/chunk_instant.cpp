#include "storage/columns/chunk_frame.h"

namespace shardscope::columns {
namespace {

constexpr std::size_t kMaxBytesAnEvent = 6 * 8;
enum Column { kTime, kLane, kName, kArguments, kStep, kScope, kColumns };

}  // namespace

ChunkBytes encodeInstants(RankId rank, std::span<const InstantEvent> events) {
    ColumnWriter<InstantEvent> columns(events);
    columns.add([](const InstantEvent& e) { return e.time.ns; });
    columns.add([](const InstantEvent& e) { return e.lane.value; });
    columns.add([](const InstantEvent& e) { return e.name.value; });
    columns.add([](const InstantEvent& e) { return e.arguments.value; });
    columns.add([](const InstantEvent& e) { return e.step.value; });
    columns.add([](const InstantEvent& e) { return e.scope; });
    return closeChunk(momentsHeader(EventKind::kInstant, rank, events), columns.payload());
}

Result<std::vector<InstantEvent>> decodeInstants(std::span<const std::byte> chunk) {
    auto open = openChunk(chunk, EventKind::kInstant, kMaxBytesAnEvent);
    if (!open) return failure(open);
    ByteReader in(open->payload);
    BlockReader<kColumns> blocks;
    std::vector<InstantEvent> events(open->header.count);
    if (!blocks.open(in, events.size()) || in.left() != 0)
        return badChunk(EventKind::kInstant, "holds malformed columns");
    Narrow narrow;
    std::int64_t previous = open->header.first.ns;
    for (InstantEvent* event = events.data(); const std::size_t size = blocks.next();) {
        for (std::size_t i = 0; i < size; ++i, ++event) {
            event->time.ns = blocks.column(kTime)[i];
            narrow.require(event->time.ns >= previous && event->time.ns <= kValueLimit);
            previous = event->time.ns;
            narrow.store(blocks.column(kLane)[i], event->lane.value);
            narrow.store(blocks.column(kName)[i], event->name.value);
            narrow.store(blocks.column(kArguments)[i], event->arguments.value);
            narrow.store(blocks.column(kStep)[i], event->step.value);
            narrow.store(blocks.column(kScope)[i], event->scope);
            narrow.require(isOne(event->scope));
        }
    }
    if (!narrow.fits()) return badChunk(EventKind::kInstant, "holds values out of range or order");
    if (events.front().time != open->header.first || events.back().time != open->header.last)
        return badChunk(EventKind::kInstant, "does not match its header");
    return events;
}

}  // namespace shardscope::columns
