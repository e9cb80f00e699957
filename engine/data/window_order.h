// A pseudo-random order of the windows of a text, computed place by place: nothing is stored,
// so any rank can ask for any place at any step.
#pragma once

#include <cstdint>

namespace shardscope::data {

/// splitmix64 (Steele, Lea, Flood 2014): one step of a counter-based random stream.
[[nodiscard]] std::uint64_t mix(std::uint64_t x);

/// A permutation of [0, count), chosen by `key`: a Feistel network over the next power of four,
/// walked along its cycle until it comes to lie in range (Black, Rogaway 2002).
class WindowOrder {
public:
    WindowOrder(std::uint64_t count, std::uint64_t key);
    /// `place` below count.
    [[nodiscard]] std::uint64_t at(std::uint64_t place) const;

private:
    [[nodiscard]] std::uint64_t encrypt(std::uint64_t value) const;

    std::uint64_t m_count;
    std::uint64_t m_key;
    unsigned m_halfBits = 1;
};

}  // namespace shardscope::data
