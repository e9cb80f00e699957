// The algorithms of a ring communicator, in terms of messages. Communication thread only.
#pragma once

#include "engine/comm/host_memory.h"
#include "engine/comm/mesh.h"
#include "engine/comm/operation.h"

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

namespace shardscope::comm {

/// A row cut into a part for each rank, in order.
class Parts {
public:
    /// Part p begins at count * p / ranks.
    friend Parts evenParts(std::size_t count, std::size_t ranks);
    [[nodiscard]] std::size_t begin(std::size_t p) const { return m_count * p / m_ranks * m_scale; }
    [[nodiscard]] std::size_t size(std::size_t p) const { return begin(p + 1) - begin(p); }
    [[nodiscard]] std::size_t largest() const {
        return ((m_count + m_ranks - 1) / m_ranks) * m_scale;
    }
    /// The same in bytes of elements of `each`.
    [[nodiscard]] Parts scaled(std::size_t each) const {
        Parts scaled = *this;
        scaled.m_scale *= each;
        return scaled;
    }

private:
    std::size_t m_count = 0, m_ranks = 1, m_scale = 1;
};
[[nodiscard]] inline Parts evenParts(std::size_t count, std::size_t ranks) {
    Parts parts;
    parts.m_count = count;
    parts.m_ranks = ranks;
    return parts;
}

/// Which ranks of the mesh a ring joins.
struct RingPlace {
    std::vector<int> meshRanks;  ///< by rank in the ring
    int own = 0;
    std::uint32_t group = 0;
    std::uint32_t tag = 0;  ///< tells the rings of one mesh apart
    /// The next tag that this process has not seen; shared by all its rings of one mesh.
    std::shared_ptr<std::atomic<std::uint32_t>> tags;
};

class Ring {
public:
    /// `observer`, which may be null, hears of the ring's buffers.
    Ring(std::shared_ptr<Mesh> mesh, RingPlace place, std::chrono::milliseconds timeout,
         control::Observer* observer);

    [[nodiscard]] int own() const { return m_place.own; }
    [[nodiscard]] int size() const { return static_cast<int>(m_place.meshRanks.size()); }
    [[nodiscard]] const RingPlace& place() const { return m_place; }
    [[nodiscard]] int meshRank(int rank) const { return m_place.meshRanks[at(rank)]; }

    /// A rank that is in no ring with the others, and what it asks for.
    struct Other {
        int meshRank = -1;  ///< -1: none
        OperationDescriptor wanted;
    };

    /// Tells all others what this rank asks for, with a few values on the way and, when a rank
    /// beside it asks for something else, that; and hears the same of them. Returns when this rank
    /// arrived. Throws CommunicationError when any differ.
    std::int64_t meet(const Call& call, std::span<const double> values, const Other& beside);
    std::int64_t meet(const Call& call, std::span<const double> values) {
        return meet(call, values, Other{});
    }
    /// The same between two.
    std::int64_t meetOne(const Call& call, int peer);
    /// By rank, of the last meeting; on the clock of each.
    [[nodiscard]] const std::vector<std::int64_t>& arrivals() const { return m_arrivals; }
    [[nodiscard]] double value(int rank, std::size_t i) const {
        return m_heard[at(rank)].values[i];
    }
    /// A tag for a ring of `members`, all of which are here.
    std::uint32_t agreeOnTag(std::span<const int> members, std::uint32_t group);

    // After a meeting.

    /// A message to or from a rank; none when it has no bytes or has been finished.
    struct Pending {
        std::unique_ptr<Transfer> transfer;
        int rank = 0;
    };
    // Messages for algorithms of others: what is sent between two ranks is received in that order.
    Pending sendTo(int rank, const void* from, std::size_t bytes);
    Pending receiveFrom(int rank, void* to, std::size_t bytes);
    void finishReceived(Pending& pending);
    void finishSent(Pending& pending);
    /// The operation that sentences about messages name, where no meeting of this ring began it.
    void follow(const Call& call);
    [[nodiscard]] int right() const { return (own() + 1) % size(); }
    [[nodiscard]] int left() const { return (own() + size() - 1) % size(); }

    /// Every rank has its part of `whole`; then all have all.
    void gather(std::byte* whole, const Parts& parts);
    /// The sum of all other ranks' rows of this rank's part, valid until the next call; null when
    /// there are none.
    const float* reduce(const float* full, const Parts& parts);
    /// Part p of `from` goes to rank p; what rank p sends lands at to[p * bytes]. The own part
    /// stays untouched.
    void exchange(const std::byte* from, const Parts& parts, std::byte* to, std::size_t bytes);
    /// The root's bytes go around.
    void passOn(std::byte* data, std::size_t bytes, int root);
    void send(const void* from, std::size_t bytes, int to);
    void receive(void* to, std::size_t bytes, int from);

private:
    /// What a rank says before an operation. Sent as it lies in memory: one build on all hosts.
    struct Hello {
        OperationDescriptor wanted;
        std::int64_t arrivalNs = 0;
        std::uint32_t nextTag = 0;
        Other beside{};
        std::array<double, kSmallValues> values{};
    };

    [[nodiscard]] static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
    [[nodiscard]] std::size_t around(int steps) const {
        return static_cast<std::size_t>((own() + steps + 2 * size()) % size());
    }
    void hear(std::span<const int> peers);
    [[nodiscard]] bool fits(const Call& call, const OperationDescriptor& theirs) const;
    Pending sendTo(int rank, const void* from, std::size_t bytes, std::uint32_t tag);
    Pending receiveFrom(int rank, void* to, std::size_t bytes, std::uint32_t tag);
    /// Waits; what goes wrong becomes a sentence: "rank 2 has not `what` ...".
    void finish(Pending& pending, const char* what);
    void finish(std::vector<Pending>& all, const char* what);
    [[noreturn]] void fail(const TransferError& error, int peer, const char* what) const;

    const std::shared_ptr<Mesh> m_mesh;
    const RingPlace m_place;
    const std::chrono::milliseconds m_timeout;
    std::vector<int> m_all;  ///< ranks of the ring
    Call m_call;             ///< the present one, for sentences
    Hello m_said;
    std::vector<Hello> m_heard;  ///< by rank
    std::vector<std::int64_t> m_arrivals;
    std::array<StagingBuffer, 2> m_sums;  ///< of a part each
};

}  // namespace shardscope::comm
