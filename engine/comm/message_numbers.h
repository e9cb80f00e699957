// What messages between two ranks are numbered by in reports.
//
// Collectives of a communicator are numbered from 1, alike on all its ranks. Messages concern two
// ranks only, so they have numbers of their own, far above: by sender, receiver and count, which
// sender and receiver know alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardscope::comm {

class MessageNumbers {
public:
    /// The first of them.
    static constexpr std::uint64_t kFirst = std::uint64_t{1} << 60;

    MessageNumbers(int rank, int size)
        : m_rank(rank),
          m_sent(static_cast<std::size_t>(size)),
          m_received(static_cast<std::size_t>(size)) {}

    [[nodiscard]] std::uint64_t sentTo(int rank) {
        return number(m_rank, rank, ++m_sent[static_cast<std::size_t>(rank)]);
    }
    [[nodiscard]] std::uint64_t receivedFrom(int rank) {
        return number(rank, m_rank, ++m_received[static_cast<std::size_t>(rank)]);
    }
    [[nodiscard]] static constexpr bool isMessage(std::uint64_t sequence) {
        return sequence >= kFirst;
    }
    /// As people count: a collective's number, or a message's among those of its pair.
    [[nodiscard]] static constexpr std::uint64_t count(std::uint64_t sequence) {
        return isMessage(sequence) ? sequence & (kCounts - 1) : sequence;
    }

private:
    static constexpr std::uint64_t kCounts = std::uint64_t{1} << 36;
    static constexpr std::uint64_t kRanks = std::uint64_t{1} << 12;

    static std::uint64_t number(int from, int to, std::uint64_t count) {
        return kFirst +
               (static_cast<std::uint64_t>(from) * kRanks + static_cast<std::uint64_t>(to)) *
                   kCounts +
               count % kCounts;
    }

    const int m_rank;
    std::vector<std::uint64_t> m_sent, m_received;
};

}  // namespace shardscope::comm
