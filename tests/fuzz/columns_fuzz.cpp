// libFuzzer on everything that decodes bytes of a recording: chunks, arguments, packed rows and
// pyramid segments.
//
// First byte: which decoder, and whether the rest is a whole chunk (then the checksum stops most
// of it) or a payload that is sealed with a valid header and checksum first.
#include "storage/columns/arguments.h"
#include "storage/columns/chunk_frame.h"
#include "storage/columns/envelope.h"
#include "storage/columns/pyramid.h"
#include "storage/columns/row_table.h"

#include <algorithm>
#include <cstdint>

namespace shardscope::columns {
namespace {

/// A chunk whose envelope is in order around a payload that need not be.
ChunkBytes sealed(EventKind kind, ByteReader in) {
    ChunkHeader header{kCodecVersion, kind, {0}, 0, {}, {}, {}};
    header.count = 1u + in.number<std::uint16_t>();
    header.first.ns = in.number<std::int32_t>();
    header.last.ns = header.first.ns + in.number<std::uint32_t>();
    if (kind != EventKind::kMemory && kind != EventKind::kCollective)
        header.lanes.push_back({{0}, header.count});
    return closeChunk(header, in.take(in.left()));
}

constexpr std::uint32_t kArguments = 0x31414353, kRows = 0x31545253;

ChunkBytes sealed(std::uint32_t magic, std::span<const std::byte> data) {
    ByteReader in(data);
    ChunkBytes out;
    putNumber(out, magic);
    putNumber(out, 1u + in.number<std::uint16_t>());
    putNumber(out, std::uint32_t{1});
    seal(out, in.take(in.left()));
    return out;
}

void decodeAs(EventKind kind, std::span<const std::byte> bytes) {
    switch (kind) {
        case EventKind::kSpan:
            static_cast<void>(decodeSpans(bytes));
            break;
        case EventKind::kMemory:
            static_cast<void>(decodeMemory(bytes));
            break;
        case EventKind::kCounter:
            static_cast<void>(decodeCounters(bytes));
            break;
        case EventKind::kCollective:
            static_cast<void>(decodeCollectives(bytes));
            break;
        case EventKind::kFlow:
            static_cast<void>(decodeFlows(bytes));
            break;
        case EventKind::kInstant:
            static_cast<void>(decodeInstants(bytes));
            break;
    }
}

void decode(std::span<const std::byte> data) {
    if (data.empty()) return;
    const auto selector = static_cast<unsigned>(data.front());
    const auto rest = data.subspan(1);
    if ((selector & 8u) != 0) {
        static_cast<void>(decodeSpanSummaries(rest));
        static_cast<void>(decodeCounterSummaries(rest));
        return;
    }
    if ((selector & 16u) != 0) {
        static_cast<void>(decodeArguments((selector & 4u) != 0
                                              ? sealed(kArguments, rest)
                                              : ChunkBytes(rest.begin(), rest.end())));
        return;
    }
    if ((selector & 32u) != 0) {
        static_cast<void>(decodeRows((selector & 4u) != 0 ? sealed(kRows, rest)
                                                          : ChunkBytes(rest.begin(), rest.end())));
        return;
    }
    const auto kind = static_cast<EventKind>(1 + ((selector & 3u) | (selector >> 3 & 4u)) %
                                                     kAll<EventKind>.size());
    if ((selector & 4u) != 0)
        decodeAs(kind, sealed(kind, ByteReader(rest)));
    else
        decodeAs(kind, rest);
}

}  // namespace
}  // namespace shardscope::columns

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    shardscope::columns::decode(std::as_bytes(std::span(data, size)));
    return 0;
}
