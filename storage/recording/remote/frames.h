// Frames between a reader and who serves a recording: u32 bytes of what follows, u8 kind, u32
// number of the call that it belongs to, then sizes, checksum and zstd as around every compressed
// blob (storage/columns/envelope.h).
#pragma once

#include "storage/model/result.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace shardscope::storage::remote {

enum class FrameKind : std::uint8_t {
    kHello = 1,    ///< the first, of who serves: its version
    kNotice = 2,   ///< before that: how far the connection is
    kCall = 3,     ///< numbered from 1 on, each by one more
    kCancel = 4,   ///< its answer is not wanted any more
    kTexts = 5,    ///< strings that answers name
    kPart = 6,     ///< of an answer, more follows
    kLast = 7,     ///< the rest of an answer
    kFailure = 8,  ///< instead of an answer; of call 0: the connection cannot be had
};
inline constexpr FrameKind kLastKind = FrameKind::kFailure;

struct Frame {
    FrameKind kind = FrameKind::kHello;
    std::uint32_t number = 0;
    std::vector<std::byte> payload;
};

/// Of a frame's payload, unpacked; longer answers take several frames.
inline constexpr std::size_t kMostPayload = std::size_t{1} << 20;
/// What answers are cut into.
inline constexpr std::size_t kPartBytes = std::size_t{256} << 10;

/// `payload` is at most kMostPayload.
[[nodiscard]] std::vector<std::byte> encodeFrame(FrameKind kind, std::uint32_t number,
                                                 std::span<const std::byte> payload);

/// Frames out of a stream that comes in pieces. What it keeps is bounded, whatever comes.
class FrameParser {
public:
    void append(std::span<const std::byte> bytes);
    /// Nothing: more has to come. kUnreadable: these are no frames, and nothing follows.
    Result<std::optional<Frame>> next();

private:
    std::vector<std::byte> m_bytes;
    std::size_t m_taken = 0;
    bool m_broken = false;
};

// Frames over two file descriptors, or one socket for both directions. Waits, but never for longer
// than the caller allows.
//
// One thread may send while another receives.

class FrameStream {
public:
    /// Takes both over, makes them non-blocking and closes them in the end.
    FrameStream(int in, int out);
    FrameStream(FrameStream&& other) noexcept;
    FrameStream& operator=(FrameStream&&) = delete;
    ~FrameStream();

    /// kLaunch: the other side has gone; kCancelled: `goOn`, asked ten times a second, was false.
    Result<void> send(FrameKind kind, std::uint32_t number, std::span<const std::byte> payload,
                      const std::function<bool()>& goOn);

    /// The next frame; nothing came of it within `limit`. kLaunch: the other side has gone;
    /// kUnreadable: what came are no frames.
    Result<std::optional<Frame>> receive(std::chrono::milliseconds limit);

    /// Sent and received until now.
    [[nodiscard]] std::uint64_t bytesOut() const { return m_bytesOut; }
    [[nodiscard]] std::uint64_t bytesIn() const { return m_bytesIn; }

private:
    int m_in = -1;
    int m_out = -1;
    FrameParser m_parser;
    std::atomic<std::uint64_t> m_bytesOut = 0;
    std::atomic<std::uint64_t> m_bytesIn = 0;
};

}  // namespace shardscope::storage::remote
