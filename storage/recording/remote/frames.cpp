#include "storage/recording/remote/frames.h"

#include "storage/columns/byte_io.h"
#include "storage/columns/envelope.h"

#include <cstring>
#include <string>

namespace shardscope::storage::remote {
namespace {

constexpr std::size_t kSizeBytes = 4;
/// Kind and number.
constexpr std::size_t kFrontBytes = 5;
/// zstd makes what it cannot press a little longer.
constexpr std::size_t kMostBytes = kMostPayload + kMostPayload / 128 + 1024;

tl::unexpected<Error> notAFrame(const std::string& how) {
    return failure(ErrorCode::kUnreadable,
                   "the other side sends what is no answer of shardscope's (" + how +
                       "): see that nothing else writes to the connection");
}

}  // namespace

std::vector<std::byte> encodeFrame(FrameKind kind, std::uint32_t number,
                                   std::span<const std::byte> payload) {
    std::vector<std::byte> bytes;
    columns::putNumber(bytes, static_cast<std::uint8_t>(kind));
    columns::putNumber(bytes, number);
    columns::seal(bytes, payload);
    std::vector<std::byte> frame;
    frame.reserve(bytes.size() + kSizeBytes);
    columns::putNumber(frame, static_cast<std::uint32_t>(bytes.size()));
    frame.insert(frame.end(), bytes.begin(), bytes.end());
    return frame;
}

void FrameParser::append(std::span<const std::byte> bytes) {
    if (m_broken) return;
    m_bytes.erase(m_bytes.begin(), m_bytes.begin() + static_cast<std::ptrdiff_t>(m_taken));
    m_taken = 0;
    m_bytes.insert(m_bytes.end(), bytes.begin(), bytes.end());
}

Result<std::optional<Frame>> FrameParser::next() {
    if (m_broken) return notAFrame("it went on after that");
    const auto rest = std::span<const std::byte>(m_bytes).subspan(m_taken);
    columns::ByteReader in(rest);
    const auto size = in.number<std::uint32_t>();
    if (!in.good()) return std::optional<Frame>();
    m_broken = size < kFrontBytes || size > kMostBytes;
    if (m_broken) return notAFrame("a frame of " + std::to_string(size) + " bytes");
    const auto bytes = in.take(size);
    if (!in.good()) return std::optional<Frame>();
    Frame frame;
    columns::ByteReader front(bytes);
    frame.kind = static_cast<FrameKind>(front.number<std::uint8_t>());
    frame.number = front.number<std::uint32_t>();
    m_broken = frame.kind < FrameKind::kHello || frame.kind > kLastKind;
    if (m_broken) return notAFrame("a frame of no known kind");
    auto payload = columns::unseal(bytes, kFrontBytes, kMostPayload, "a frame");
    m_broken = !payload;
    if (m_broken) return notAFrame("a damaged frame");
    frame.payload = std::move(*payload);
    m_taken += kSizeBytes + size;
    return std::optional(std::move(frame));
}

}  // namespace shardscope::storage::remote
