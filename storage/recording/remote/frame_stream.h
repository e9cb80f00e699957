// Frames over two file descriptors, or one socket for both directions. Waits, but never for longer
// than it is told.
//
// One thread may send while another receives.
#pragma once

#include "storage/model/result.h"
#include "storage/recording/remote/frames.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace shardscope::storage::remote {

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
