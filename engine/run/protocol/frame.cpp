#include "engine/run/protocol/frame.h"

#include <fmt/format.h>

#include <cassert>
#include <cstring>

namespace shardscope::run {
namespace {

template <class T>
void put(std::byte* target, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        target[i] = static_cast<std::byte>((value >> (8 * i)) & 0xFF);
    }
}

template <class T>
T get(const std::byte* source) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        value |= std::to_integer<std::uint64_t>(source[i]) << (8 * i);
    }
    return static_cast<T>(value);
}

Result<void> checkHeader(std::uint32_t size, std::uint16_t type, std::uint16_t version) {
    if (version != kProtocolVersion) {
        return failure(ErrorCode::kLaunch,
                       fmt::format("the other side speaks protocol version {}, this one {}; use "
                                   "the same build of Shardscope on both",
                                   version, kProtocolVersion));
    }
    if (type != static_cast<std::uint16_t>(FrameType::kMessage) &&
        type != static_cast<std::uint16_t>(FrameType::kChunk)) {
        return failure(ErrorCode::kLaunch, fmt::format("unknown frame type {}", type));
    }
    if (size > kMaxFramePayload) {
        return failure(ErrorCode::kLaunch, fmt::format("a frame claims {} bytes; at most {} are "
                                                       "allowed",
                                                       size, kMaxFramePayload));
    }
    return {};
}

}  // namespace

std::vector<std::byte> encodeFrame(FrameType type, RankId rank,
                                   std::span<const std::byte> payload) {
    assert(payload.size() <= kMaxFramePayload);
    std::vector<std::byte> frame(kFrameHeaderBytes + payload.size());
    put(frame.data(), static_cast<std::uint32_t>(payload.size()));
    put(frame.data() + 4, static_cast<std::uint16_t>(type));
    put(frame.data() + 6, kProtocolVersion);
    put(frame.data() + 8, rank.value);
    put(frame.data() + 12, std::uint32_t{0});
    if (!payload.empty()) {
        std::memcpy(frame.data() + kFrameHeaderBytes, payload.data(), payload.size());
    }
    return frame;
}

std::vector<std::byte> encodeMessage(RankId rank, std::string_view json) {
    return encodeFrame(FrameType::kMessage, rank, std::as_bytes(std::span(json)));
}

void FrameParser::append(std::span<const std::byte> bytes) {
    // Drop what was parsed before growing, so that the buffer stays one frame and a read.
    if (m_begin > 0) {
        m_buffer.erase(m_buffer.begin(), m_buffer.begin() + static_cast<std::ptrdiff_t>(m_begin));
        m_begin = 0;
    }
    m_buffer.insert(m_buffer.end(), bytes.begin(), bytes.end());
}

Result<std::optional<Frame>> FrameParser::next() {
    const std::size_t available = m_buffer.size() - m_begin;
    if (available < kFrameHeaderBytes) return std::optional<Frame>();
    const std::byte* header = m_buffer.data() + m_begin;
    const auto size = get<std::uint32_t>(header);
    const auto type = get<std::uint16_t>(header + 4);
    if (auto valid = checkHeader(size, type, get<std::uint16_t>(header + 6)); !valid) {
        return failure(valid);
    }
    if (available - kFrameHeaderBytes < size) return std::optional<Frame>();
    Frame frame;
    frame.type = static_cast<FrameType>(type);
    frame.rank = RankId{get<std::uint32_t>(header + 8)};
    const std::byte* payload = header + kFrameHeaderBytes;
    frame.payload.assign(payload, payload + size);
    m_begin += kFrameHeaderBytes + size;
    return std::optional<Frame>(std::move(frame));
}

}  // namespace shardscope::run
