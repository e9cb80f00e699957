// Frames over a pair of non-blocking descriptors (which may be the same socket).
//
// Used from one poll loop: neither reading nor writing ever waits. What cannot be written at
// once is kept in order; the owner looks at pendingBytes() to hold back its sources.
#pragma once

#include "engine/launch/file_descriptor.h"
#include "engine/run/protocol/frame.h"
#include "engine/run/protocol/messages.h"
#include "storage/model/result.h"

#include <poll.h>

#include <cstddef>
#include <deque>
#include <span>
#include <utility>
#include <vector>

namespace shardscope::launch {

class FrameChannel {
public:
    FrameChannel() = default;
    /// One socket for both directions.
    explicit FrameChannel(FileDescriptor socket);
    /// Input and output of their own, as ssh gives them.
    FrameChannel(FileDescriptor input, FileDescriptor output);

    /// False once the other side closed or the stream broke.
    [[nodiscard]] bool isOpen() const { return m_open; }
    void close();
    /// {input, output}, for something else than frames, before anything was received; the channel
    /// is closed.
    [[nodiscard]] std::pair<FileDescriptor, FileDescriptor> release();

    void send(const run::Frame& frame);
    void send(RankId rank, const run::Message& message);
    void sendEncoded(std::vector<std::byte> frame);

    /// Appends what is to be polled for.
    void addPolls(std::vector<pollfd>& polls, bool wantInput) const;

    /// Takes in what has arrived, a megabyte at most, and appends whole frames. The end of the
    /// stream closes the channel; bytes that are no frames are an error and close it too.
    Result<void> receive(std::vector<run::Frame>& frames);

    /// Writes what fits now.
    void flush();

    [[nodiscard]] std::size_t pendingBytes() const { return m_pendingBytes; }

private:
    [[nodiscard]] int outputFd() const { return m_output.valid() ? m_output.get() : m_input.get(); }

    FileDescriptor m_input;
    FileDescriptor m_output;  ///< invalid: m_input serves both directions
    bool m_open = false;
    run::FrameParser m_parser;
    std::deque<std::vector<std::byte>> m_outbox;
    std::size_t m_sentOfFirst = 0;
    std::size_t m_pendingBytes = 0;
};

}  // namespace shardscope::launch
