#include "storage/columns/envelope.h"

#include "storage/columns/byte_io.h"
#include "storage/columns/crc32c.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

namespace shardscope::columns {
namespace {

constexpr std::size_t kSizesBytes = 12;

/// One context a thread: setting one up costs more than compressing a small chunk.
struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
ZSTD_CCtx* compressor() {
    thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
    return context.get();
}
ZSTD_DCtx* decompressor() {
    thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
    return context.get();
}

tl::unexpected<Error> damaged(const char* what, const char* how) {
    return failure(ErrorCode::kUnreadable,
                   std::string(what) + " " + how + "; the file is damaged there");
}

/// Of everything but itself.
std::uint32_t checksumOf(std::span<const std::byte> blob, std::size_t front) {
    return crc32c(blob.subspan(front + kSizesBytes), crc32c(blob.first(front + 8)));
}

}  // namespace

void seal(std::vector<std::byte>& out, std::span<const std::byte> raw, Effort effort) {
    const std::size_t front = out.size();
    out.resize(front + kSizesBytes + ZSTD_compressBound(raw.size()));
    std::byte* payload = out.data() + front + kSizesBytes;
    const std::size_t packed =
        ZSTD_compressCCtx(compressor(), payload, out.size() - front - kSizesBytes, raw.data(),
                          raw.size(), static_cast<int>(effort));
    out.resize(front + kSizesBytes + packed);
    const auto rawBytes = static_cast<std::uint32_t>(raw.size());
    const auto packedBytes = static_cast<std::uint32_t>(packed);
    std::memcpy(out.data() + front, &rawBytes, 4);
    std::memcpy(out.data() + front + 4, &packedBytes, 4);
    const std::uint32_t checksum = checksumOf(out, front);
    std::memcpy(out.data() + front + 8, &checksum, 4);
}

Result<std::vector<std::byte>> unseal(std::span<const std::byte> blob, std::size_t front,
                                      std::size_t maxRaw, const char* what) {
    if (blob.size() < front + kSizesBytes) return damaged(what, "is cut short");
    ByteReader sizes(blob.subspan(front, kSizesBytes));
    const auto rawBytes = sizes.number<std::uint32_t>();
    const auto packedBytes = sizes.number<std::uint32_t>();
    const auto checksum = sizes.number<std::uint32_t>();
    const auto packed = blob.subspan(front + kSizesBytes);
    if (packed.size() != packedBytes) return damaged(what, "has the wrong length");
    if (rawBytes > std::min(maxRaw, kMaxRawBytes)) return damaged(what, "claims an absurd size");
    if (checksumOf(blob, front) != checksum) return damaged(what, "fails its checksum");
    std::vector<std::byte> raw(rawBytes);
    const std::size_t got =
        ZSTD_decompressDCtx(decompressor(), raw.data(), raw.size(), packed.data(), packed.size());
    if (ZSTD_isError(got) != 0 || got != rawBytes) return damaged(what, "does not decompress");
    return raw;
}

Result<void> changeFront(std::span<std::byte> blob, std::size_t front, std::size_t at,
                         std::uint32_t number, const char* what) {
    if (blob.size() < front + kSizesBytes) return damaged(what, "is cut short");
    std::uint32_t checksum = 0;
    std::memcpy(&checksum, blob.data() + front + 8, 4);
    if (checksumOf(blob, front) != checksum) return damaged(what, "fails its checksum");
    std::memcpy(blob.data() + at, &number, 4);
    checksum = checksumOf(blob, front);
    std::memcpy(blob.data() + front + 8, &checksum, 4);
    return {};
}

Result<std::vector<std::byte>> resealed(std::span<const std::byte> blob, std::size_t front,
                                        Effort effort, const char* what) {
    auto raw = unseal(blob, front, kMaxRawBytes, what);
    if (!raw) return raw;
    const auto head = blob.first(front);
    std::vector<std::byte> out(head.begin(), head.end());
    seal(out, *raw, effort);
    return out;
}

}  // namespace shardscope::columns
