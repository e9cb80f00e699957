// One process of a recorded program that reports to us: its connection, what is known of it, and
// what it recorded before it was known which rank it is.
//
// One thread, a poll loop; never waits.
#pragma once

#include "engine/launch/event_sender.h"
#include "engine/launch/program/process_end.h"
#include "profiler/capture/program_link.h"
#include "storage/columns/chunk.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/ids.h"
#include "storage/model/result.h"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::launch {

class ProgramPeer {
public:
    using Take = std::function<void(capture::LinkMessage& message)>;

    /// Of the process at the other end of `socket`. What is held of it for later goes to memory,
    /// then to a nameless file in `folder`.
    ProgramPeer(FileDescriptor socket, const std::string& folder);

    [[nodiscard]] int fd() const { return m_socket.get(); }
    [[nodiscard]] pid_t pid() const { return m_pid; }
    /// Its end is to be polled for; -1: the kernel has none.
    [[nodiscard]] int processFd() const { return m_process.get(); }
    [[nodiscard]] std::uint64_t session() const { return m_session; }
    [[nodiscard]] bool isOpen() const { return m_socket.valid(); }
    /// Bytes are there to be received.
    [[nodiscard]] bool hasInput() const;

    /// Takes in what has arrived, and hands out whole messages; an error ends the connection.
    Result<void> receive(const Take& take);
    /// The program closed its connection and has made another one.
    void continueOn(ProgramPeer& other);
    void tell(const capture::LinkMessage& message);
    void close() { m_socket.reset(); }

    /// Until it has a rank.
    void hold(const capture::LinkMessage& message);
    /// In order, and nothing is held any more.
    void release(const Take& take);
    [[nodiscard]] std::uint64_t heldEvents() const { return m_heldEvents; }

    /// Of a process that has ended, as far as it or the kernel tells.
    [[nodiscard]] KnownEnd end() const;

    std::map<std::string, std::string> facts;
    std::optional<RankId> rank;
    std::optional<capture::ProcessEnding> ending;
    std::uint64_t steps = 0;
    bool gone = false;     ///< the process has ended
    bool saidAll = false;  ///< and had sent all that it recorded

private:
    Result<void> cut(const Take& take);

    FileDescriptor m_socket;
    FileDescriptor m_process;
    pid_t m_pid = 0;
    std::uint64_t m_session = 0;
    capture::LinkReader m_reader;
    ChunkBacklog m_held;
    std::uint64_t m_heldEvents = 0;
};

// Events of a later attempt at the same rank, made to fit behind those of the attempts before:
// torchrun starts ranks anew after a failure, and each process counts from 0 again.

/// What is added to the numbers of a process; nothing of a rank's first.
struct AttemptOffsets {
    std::uint32_t attempt = 0;
    std::uint32_t strings = 0;
    std::int32_t steps = 0;
    std::uint64_t emitted = 0, dropped = 0;  ///< events, as far as they were counted

    /// Far above any sequence of one attempt, and within what a drawn collective has room for.
    [[nodiscard]] std::uint64_t sequences() const { return std::uint64_t{attempt} << 40; }
};

/// The chunk with them added, as one of `rank`.
Result<columns::ChunkBytes> rebased(const columns::ChunkBytes& chunk, RankId rank,
                                    const AttemptOffsets& offsets);

/// How far a rank's numbers have come over all of its attempts.
class RankNumbers {
public:
    void note(const capture::NewStrings& strings);
    void note(StepIndex step);
    /// Events of all attempts so far.
    void note(std::uint64_t emitted, std::uint64_t dropped);
    /// For the next process of this rank; none before it: all 0.
    AttemptOffsets next();

private:
    std::uint32_t m_attempts = 0;
    std::uint32_t m_strings = 0;
    std::int32_t m_steps = 0;
    std::uint64_t m_emitted = 0, m_dropped = 0;
};

}  // namespace shardscope::launch
