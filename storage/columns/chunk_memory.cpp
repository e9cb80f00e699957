#include "storage/columns/chunk_frame.h"

namespace shardscope::columns {
namespace {

constexpr std::size_t kMaxBytesAnEvent = 12 * 8;
enum Column { kTime, kAddress, kSize, kAction, kCategory, kOwner, kStep, kLayer, kPhase, kColumns };

}  // namespace

ChunkBytes encodeMemory(RankId rank, std::span<const MemoryEvent> events) {
    ColumnWriter<MemoryEvent> columns(events);
    columns.add([](const MemoryEvent& e) { return e.time.ns; });
    columns.addRepeating([](const MemoryEvent& e) { return e.address; });
    columns.addRepeating([](const MemoryEvent& e) { return e.size.count; });
    columns.add([](const MemoryEvent& e) { return e.action; });
    columns.add([](const MemoryEvent& e) { return e.category; });
    columns.add([](const MemoryEvent& e) { return e.owner.value; });
    columns.add([](const MemoryEvent& e) { return e.step.value; });
    columns.add([](const MemoryEvent& e) { return e.layer.value; });
    columns.add([](const MemoryEvent& e) { return e.phase; });
    const auto argued = [](const MemoryEvent& e) { return e.arguments != kEmptyString; };
    if (std::any_of(events.begin(), events.end(), argued))
        columns.add([](const MemoryEvent& e) { return e.arguments.value; });
    const ChunkHeader header{
        kCodecVersion,       EventKind::kMemory, rank, static_cast<std::uint32_t>(events.size()),
        events.front().time, events.back().time, {}};
    return closeChunk(header, columns.payload());
}

namespace {

/// The column that only imported events have.
bool readArguments(ByteReader& in, std::vector<MemoryEvent>& events) {
    if (in.left() == 0) return true;
    std::vector<std::int64_t> values;
    if (!decodeColumn(in, events.size(), values) || in.left() != 0) return false;
    Narrow narrow;
    for (std::size_t i = 0; i < events.size(); ++i)
        narrow.store(values[i], events[i].arguments.value);
    return narrow.fits();
}

}  // namespace

Result<std::vector<MemoryEvent>> decodeMemory(std::span<const std::byte> chunk) {
    auto open = openChunk(chunk, EventKind::kMemory, kMaxBytesAnEvent);
    if (!open) return failure(open);
    ByteReader in(open->payload);
    BlockReader<kColumns> blocks;
    std::vector<MemoryEvent> events(open->header.count);
    if (!blocks.open(in, events.size()) || !readArguments(in, events))
        return badChunk(EventKind::kMemory, "holds malformed columns");
    Narrow narrow;
    std::int64_t previous = open->header.first.ns;
    for (MemoryEvent* event = events.data(); const std::size_t size = blocks.next();) {
        for (std::size_t i = 0; i < size; ++i, ++event) {
            event->time.ns = blocks.column(kTime)[i];
            event->address = static_cast<std::uint64_t>(blocks.column(kAddress)[i]);
            event->size.count = blocks.column(kSize)[i];
            narrow.require(event->time.ns >= previous && event->time.ns <= kValueLimit &&
                           event->size.count >= 0 && event->size.count <= kValueLimit);
            previous = event->time.ns;
            narrow.store(blocks.column(kAction)[i], event->action);
            narrow.require(isOne(event->action));
            narrow.store(blocks.column(kCategory)[i], event->category);
            narrow.require(isOne(event->category));
            narrow.store(blocks.column(kOwner)[i], event->owner.value);
            narrow.store(blocks.column(kStep)[i], event->step.value);
            narrow.store(blocks.column(kLayer)[i], event->layer.value);
            narrow.store(blocks.column(kPhase)[i], event->phase);
        }
    }
    if (!narrow.fits()) return badChunk(EventKind::kMemory, "holds values out of range or order");
    if (events.front().time != open->header.first || events.back().time != open->header.last)
        return badChunk(EventKind::kMemory, "does not match its header");
    return events;
}

}  // namespace shardscope::columns
