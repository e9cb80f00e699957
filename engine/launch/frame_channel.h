// Frames over a pair of non-blocking descriptors (which may be the same socket).
//
// Used from one poll loop: neither reading nor writing ever waits. What cannot be written at
// once is kept in order; the owner looks at pendingBytes() to hold back its sources.
//
// Over a network each frame is sealed (network/sealed_records.h).
#pragma once

#include "engine/network/sealed_records.h"
#include "engine/run/protocol/frame.h"
#include "engine/run/protocol/messages.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/result.h"

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
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

    /// Before anything is sent or received: frames are tagged, and those whose tag does not fit end
    /// the stream.
    void seal(const network::SealPair& seals) { m_seals = seals; }
    /// A key to be sent, as it was without seals: those who read the network do not learn it. One
    /// for each channel.
    [[nodiscard]] network::Key veil(const network::Key& key) const {
        return m_seals ? m_seals->out.veiled(key) : key;
    }
    /// That the other side has sent so.
    [[nodiscard]] network::Key unveil(const network::Key& key) const {
        return m_seals ? m_seals->in.veiled(key) : key;
    }

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
    /// stream closes the channel; bytes that are not frames, or were changed on their way, are an
    /// error and close it too.
    Result<void> receive(std::vector<run::Frame>& frames);

    /// Writes what fits now.
    void flush();

    [[nodiscard]] std::size_t pendingBytes() const { return m_pendingBytes; }

private:
    Result<void> unseal(std::span<const std::byte> bytes);
    Result<void> take(std::span<const std::byte> bytes, std::vector<run::Frame>& frames);
    [[nodiscard]] int outputFd() const { return m_output.valid() ? m_output.get() : m_input.get(); }

    FileDescriptor m_input;
    FileDescriptor m_output;  ///< invalid: m_input serves both directions
    bool m_open = false;
    run::FrameParser m_parser;
    std::optional<network::SealPair> m_seals;
    network::SealedRecords m_sealed{run::kFrameHeaderBytes + run::kMaxFramePayload};
    std::deque<std::vector<std::byte>> m_outbox;
    std::size_t m_sentOfFirst = 0;
    std::size_t m_pendingBytes = 0;
};

// How long the ends of a run wait for a word of each other.

/// An end with nothing to send sends a heartbeat as often.
inline constexpr std::chrono::seconds kHeartbeatInterval{2};
/// After so much silence the other end counts as lost.
inline constexpr std::chrono::seconds kLease{15};
/// Until its recorder's first word an agent waits as long: other hosts may still be sent the
/// program.
inline constexpr std::chrono::minutes kLeaseBeforeTheStart{30};
/// What the others get to end by themselves once one rank has failed.
inline constexpr std::chrono::seconds kGraceAfterFailure{2};
/// After SIGKILL; what is left then is left to the kernel.
inline constexpr std::chrono::seconds kGraceAfterKill{10};

}  // namespace shardscope::launch
