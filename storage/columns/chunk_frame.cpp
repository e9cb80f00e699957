#include "storage/columns/chunk_frame.h"

#include "storage/columns/envelope.h"

namespace shardscope::columns {
namespace {

constexpr std::uint32_t kMagic = 0x314B4353u;  // "SCK1"
constexpr std::size_t kFixedBytes = 36;

bool plausible(const ChunkHeader& header) {
    if (header.count == 0 || header.count > kMaxChunkEvents) return false;
    if (header.first.ns < -kValueLimit || header.last.ns > 2 * kValueLimit) return false;
    if (header.last < header.first) return false;
    std::uint64_t total = 0;
    for (const LaneCount& lane : header.lanes) total += lane.count;
    const bool hasLanes =
        header.kind != EventKind::kMemory && header.kind != EventKind::kCollective;
    return total == (hasLanes ? header.count : 0);
}

}  // namespace

tl::unexpected<Error> badChunk(EventKind kind, const std::string& how) {
    return failure(ErrorCode::kUnreadable,
                   std::string("a ") + toWord(kind) + " chunk " + how +
                       "; the sender or the file is damaged there, its events are left out");
}

Result<ChunkHeader> decodeHeader(std::span<const std::byte> chunk) {
    ByteReader in(chunk);
    ChunkHeader header;
    if (in.number<std::uint32_t>() != kMagic)
        return failure(ErrorCode::kUnreadable, "these bytes are not an event chunk");
    header.codecVersion = in.number<std::uint8_t>();
    header.kind = static_cast<EventKind>(in.number<std::uint8_t>());
    in.number<std::uint16_t>();
    header.rank.value = in.number<std::uint32_t>();
    header.count = in.number<std::uint32_t>();
    header.first.ns = in.number<std::int64_t>();
    header.last.ns = in.number<std::int64_t>();
    const auto lanes = in.number<std::uint32_t>();
    if (header.codecVersion != kCodecVersion)
        return failure(ErrorCode::kUnreadable,
                       "an event chunk has codec version " + std::to_string(header.codecVersion) +
                           ", this program reads " + std::to_string(kCodecVersion) +
                           ": use a newer Shardscope");
    if (!isOne(header.kind))
        return failure(ErrorCode::kUnreadable, "a chunk of unknown kind: use a newer Shardscope");
    if (!in.good() || lanes > in.left() / 8) return badChunk(header.kind, "is cut short");
    for (std::uint32_t i = 0; i < lanes; ++i) {
        const LaneId lane{in.number<std::uint32_t>()};
        header.lanes.push_back({lane, in.number<std::uint32_t>()});
    }
    if (!plausible(header)) return badChunk(header.kind, "has an impossible header");
    return header;
}

Result<OpenChunk> openChunk(std::span<const std::byte> chunk, EventKind kind,
                            std::size_t maxBytesAnEvent) {
    auto header = decodeHeader(chunk);
    if (!header) return failure(header);
    if (header->kind != kind)
        return badChunk(header->kind,
                        std::string("stands where one of kind ") + toWord(kind) + " belongs");
    const std::size_t front = kFixedBytes + 8 * header->lanes.size();
    auto payload = unseal(chunk, front, header->count * maxBytesAnEvent + 4096, "an event chunk");
    if (!payload) return failure(payload);
    return OpenChunk{std::move(*header), std::move(*payload)};
}

Result<void> giveTo(RankId rank, ChunkBytes& chunk) {
    const auto header = decodeHeader(chunk);
    if (!header) return failure(header);
    const std::size_t front = kFixedBytes + 8 * header->lanes.size();
    constexpr std::size_t kRankAt = 8;
    return changeFront(chunk, front, kRankAt, rank.value, "an event chunk");
}

Result<ChunkBytes> packedSmall(std::span<const std::byte> chunk) {
    auto header = decodeHeader(chunk);
    if (!header) return failure(header);
    return resealed(chunk, kFixedBytes + 8 * header->lanes.size(), Effort::kSmall,
                    "an event chunk");
}

ChunkBytes closeChunk(const ChunkHeader& header, std::span<const std::byte> payload) {
    ChunkBytes out;
    putNumber(out, kMagic);
    putNumber(out, kCodecVersion);
    putNumber(out, static_cast<std::uint8_t>(header.kind));
    putNumber(out, std::uint16_t{0});
    putNumber(out, header.rank.value);
    putNumber(out, header.count);
    putNumber(out, header.first.ns);
    putNumber(out, header.last.ns);
    putNumber(out, static_cast<std::uint32_t>(header.lanes.size()));
    for (const LaneCount& lane : header.lanes) {
        putNumber(out, lane.lane.value);
        putNumber(out, lane.count);
    }
    seal(out, payload);
    return out;
}

}  // namespace shardscope::columns
