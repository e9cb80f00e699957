// A stream between two sockets that is as slow as one over a network: each byte comes so long after
// it was sent, and no more of them a second than the link carries.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <thread>

namespace shardscope::bench {

struct LinkFacts {
    std::chrono::microseconds oneWay{};
    double bytesPerSecond = 0;
};

class DelayedLink {
public:
    explicit DelayedLink(const LinkFacts& facts);
    DelayedLink(const DelayedLink&) = delete;
    DelayedLink& operator=(const DelayedLink&) = delete;
    /// Once both ends are closed.
    ~DelayedLink();

    /// One for each side, whose they are.
    [[nodiscard]] std::array<int, 2> ends() const { return m_ends; }

private:
    std::array<int, 2> m_ends{};
    std::array<int, 2> m_inner{};
    std::array<std::thread, 2> m_threads;
};

}  // namespace shardscope::bench
