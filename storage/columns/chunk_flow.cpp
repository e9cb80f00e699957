#include "storage/columns/chunk_frame.h"

namespace shardscope::columns {
namespace {

constexpr std::size_t kMaxBytesAnEvent = 14 * 8;
enum Column {
    kTime,
    kToSpan,
    kLane,
    kId,
    kIdText,
    kName,
    kCategory,
    kArguments,
    kStep,
    kPoint,
    kBinding,
    kBound,
    kDepth,
    kColumns
};

bool readEvent(const BlockReader<kColumns>& blocks, std::size_t i, FlowEvent& event) {
    Narrow narrow;
    const auto at = [&](Column column) { return blocks.column(column)[i]; };
    event.time.ns = at(kTime);
    event.id = static_cast<std::uint64_t>(at(kId));
    narrow.store(at(kLane), event.lane.value);
    narrow.store(at(kIdText), event.idText.value);
    narrow.store(at(kName), event.name.value);
    narrow.store(at(kCategory), event.category.value);
    narrow.store(at(kArguments), event.arguments.value);
    narrow.store(at(kStep), event.step.value);
    narrow.store(at(kPoint), event.point);
    narrow.store(at(kBinding), event.binding);
    narrow.store(at(kDepth), event.depth);
    narrow.require(isOne(event.point) && isOne(event.binding));
    narrow.require(at(kBound) == 0 || at(kBound) == 1);
    event.bound = at(kBound) != 0;
    const std::int64_t toSpan = at(kToSpan);
    narrow.require(toSpan >= -2 * kValueLimit && toSpan <= 2 * kValueLimit &&
                   event.time.ns >= -kValueLimit && event.time.ns <= kValueLimit &&
                   (event.bound || toSpan == 0));
    if (narrow.fits() && event.bound) event.spanStart.ns = event.time.ns + toSpan;
    return narrow.fits();
}

}  // namespace

ChunkBytes encodeFlows(RankId rank, std::span<const FlowEvent> events) {
    ColumnWriter<FlowEvent> columns(events);
    columns.add([](const FlowEvent& e) { return e.time.ns; });
    columns.add([](const FlowEvent& e) { return e.bound ? e.spanStart.ns - e.time.ns : 0; });
    columns.add([](const FlowEvent& e) { return e.lane.value; });
    columns.add([](const FlowEvent& e) { return e.id; });
    columns.add([](const FlowEvent& e) { return e.idText.value; });
    columns.add([](const FlowEvent& e) { return e.name.value; });
    columns.add([](const FlowEvent& e) { return e.category.value; });
    columns.add([](const FlowEvent& e) { return e.arguments.value; });
    columns.add([](const FlowEvent& e) { return e.step.value; });
    columns.add([](const FlowEvent& e) { return e.point; });
    columns.add([](const FlowEvent& e) { return e.binding; });
    columns.add([](const FlowEvent& e) { return e.bound ? 1 : 0; });
    columns.add([](const FlowEvent& e) { return e.depth; });
    return closeChunk(momentsHeader(EventKind::kFlow, rank, events), columns.payload());
}

Result<std::vector<FlowEvent>> decodeFlows(std::span<const std::byte> chunk) {
    auto open = openChunk(chunk, EventKind::kFlow, kMaxBytesAnEvent);
    if (!open) return failure(open);
    ByteReader in(open->payload);
    BlockReader<kColumns> blocks;
    std::vector<FlowEvent> events(open->header.count);
    if (!blocks.open(in, events.size()) || in.left() != 0)
        return badChunk(EventKind::kFlow, "holds malformed columns");
    Timestamp previous = open->header.first;
    for (FlowEvent* event = events.data(); const std::size_t size = blocks.next();) {
        for (std::size_t i = 0; i < size; ++i, ++event) {
            if (!readEvent(blocks, i, *event) || event->time < previous)
                return badChunk(EventKind::kFlow, "holds values out of range or order");
            previous = event->time;
        }
    }
    if (events.front().time != open->header.first || events.back().time != open->header.last)
        return badChunk(EventKind::kFlow, "does not match its header");
    return events;
}

}  // namespace shardscope::columns
