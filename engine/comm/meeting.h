// How ranks that share memory wait for each other: through futex words in their slots.
//
// A rank that waits looks out for what would make it wait for ever: a peer that gave up, left, or
// whose process is gone, one that waits for this rank in another operation, and at last the
// timeout. Each is a CommunicationError that names rank and operation.
#pragma once

#include "engine/comm/mesh.h"
#include "engine/comm/segment.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace shardscope::comm {

class Meeting {
public:
    struct Member {
        int worldRank = 0;  ///< for sentences
        int place = 0;      ///< in the segment
        RankSlot* slot = nullptr;
    };

    /// `own`: this rank's place in `members`. Tells peers which process it is. `mesh`, which may be
    /// null, hears of waits.
    Meeting(std::shared_ptr<Segment> segment, std::vector<Member> members, int own,
            std::chrono::milliseconds timeout, std::shared_ptr<Mesh> mesh = nullptr);
    ~Meeting();
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;

    [[nodiscard]] int size() const { return static_cast<int>(m_members.size()); }
    [[nodiscard]] int own() const { return m_own; }
    [[nodiscard]] int worldRank(int rank) const { return m_members[at(rank)].worldRank; }
    [[nodiscard]] int place(int rank) const { return m_members[at(rank)].place; }
    [[nodiscard]] const std::shared_ptr<Segment>& segment() const { return m_segment; }
    [[nodiscard]] std::chrono::milliseconds timeout() const { return m_timeout; }

    // Communication thread.

    /// The number that the next meet() will have.
    [[nodiscard]] std::uint32_t next() const { return m_meeting + 1; }
    /// Small values of the meeting `next()`, readable by peers once they have met.
    [[nodiscard]] double* scratch(int rank, std::uint32_t meeting) const {
        return m_members[at(rank)].slot->scratch[meeting % 2].data();
    }
    /// Announces this rank, waits for all others, for `more` than the timeout where something else
    /// may hold them up for so long. Returns when this rank arrived.
    std::int64_t meet(const Call& call, std::chrono::milliseconds more = {});
    /// Of the last meeting, by rank.
    [[nodiscard]] const OperationDescriptor& wanted(int rank) const;
    [[nodiscard]] const std::vector<std::int64_t>& arrivals() const { return m_arrivals; }
    /// Throws when `rank` wanted something else in the last meeting.
    void requireSame(const Call& call, int rank) const;
    /// This rank has finished reading its peers' inputs of the last meeting.
    void announceDone();

    /// When each of the two was there.
    struct Pair {
        std::int64_t ownNs = 0, peerNs = 0;
    };
    /// Waits until `to` awaits the message, then until it has copied it.
    Pair offer(const Call& call, int to);
    /// Waits for the message; `from` says where its input lies.
    Pair await(const Call& call, int from, OperationDescriptor& found);
    void announceTaken(int from);

    // Any thread.

    /// Blocks until every peer has announced that it is done with `meeting`.
    void awaitDone(const Call& call, std::uint32_t meeting) const;
    void abort() const;

private:
    enum class Watch : std::uint8_t { kMeeting, kOffer, kAwait, kCompletion };
    struct Wait {
        const Call& call;
        int peer;
        Watch watch;
        std::chrono::milliseconds more{};
    };

    [[nodiscard]] static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
    [[nodiscard]] RankSlot& slot(int rank) const { return *m_members[at(rank)].slot; }
    void until(std::atomic<std::uint32_t>& word, std::uint32_t number, const Wait& wait) const;
    // Why the wait would never end; empty: it may.
    [[nodiscard]] std::string whyGone(const Wait& wait) const;
    [[nodiscard]] std::string whyParted(const Wait& wait) const;
    [[nodiscard]] std::string whyLost(const Wait& wait) const;
    [[nodiscard]] std::string hung(const Wait& wait) const;

    const std::shared_ptr<Segment> m_segment;
    const std::vector<Member> m_members;
    const int m_own;
    const std::chrono::milliseconds m_timeout;
    const std::shared_ptr<Mesh> m_mesh;

    // Communication thread.
    std::uint32_t m_meeting = 0;
    std::vector<std::int64_t> m_arrivals;
    std::vector<std::uint32_t> m_sent, m_received;  // messages, by rank
};

}  // namespace shardscope::comm
