// Frames: how ranks, agents and the recorder talk, over a socketpair or ssh's stdio.
//
// 16-byte header, little-endian: u32 payload bytes, u16 type, u16 protocol version, u32 rank,
// u32 reserved 0; then the payload. Chunks are binary (storage/columns), all else is JSON
// (engine/run/protocol/messages.h).
#pragma once

#include "storage/model/ids.h"
#include "storage/model/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace shardscope::run {

inline constexpr std::uint16_t kProtocolVersion = 11;
inline constexpr std::size_t kFrameHeaderBytes = 16;
inline constexpr std::uint32_t kMaxFramePayload = 64u << 20;
/// Rank field of frames that belong to the agent or recorder itself.
inline constexpr RankId kNoRank{0xFFFFFFFFu};

enum class FrameType : std::uint16_t {
    kMessage = 1,  ///< JSON, see messages.h
    kChunk = 2,    ///< storage/columns chunk
};

struct Frame {
    FrameType type = FrameType::kMessage;
    RankId rank = kNoRank;
    std::vector<std::byte> payload;

    [[nodiscard]] std::string_view text() const {
        return {reinterpret_cast<const char*>(payload.data()), payload.size()};
    }
};

[[nodiscard]] std::vector<std::byte> encodeFrame(FrameType type, RankId rank,
                                                 std::span<const std::byte> payload);
[[nodiscard]] std::vector<std::byte> encodeMessage(RankId rank, std::string_view json);

/// Cuts a byte stream into frames. A wrong version, unknown type or oversized payload is an
/// error in words, after which the stream is unusable.
class FrameParser {
public:
    void append(std::span<const std::byte> bytes);
    /// Next whole frame; nullopt inside Result when more bytes are needed.
    Result<std::optional<Frame>> next();

private:
    std::vector<std::byte> m_buffer;
    std::size_t m_begin = 0;
};

}  // namespace shardscope::run
