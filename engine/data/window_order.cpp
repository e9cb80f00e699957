#include "engine/data/window_order.h"

#include <bit>

namespace shardscope::data {
namespace {

constexpr unsigned kRounds = 6;

}  // namespace

std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

WindowOrder::WindowOrder(std::uint64_t count, std::uint64_t key) : m_count(count), m_key(key) {
    if (count > 1) m_halfBits = (static_cast<unsigned>(std::bit_width(count - 1)) + 1) / 2;
}

std::uint64_t WindowOrder::at(std::uint64_t place) const {
    std::uint64_t value = encrypt(place);
    while (value >= m_count) value = encrypt(value);
    return value;
}

std::uint64_t WindowOrder::encrypt(std::uint64_t value) const {
    const std::uint64_t mask = (std::uint64_t{1} << m_halfBits) - 1;
    std::uint64_t left = value >> m_halfBits;
    std::uint64_t right = value & mask;
    for (unsigned round = 0; round < kRounds; ++round) {
        const std::uint64_t next =
            left ^ (mix(m_key ^ mix(right + (std::uint64_t{round} << 56))) & mask);
        left = right;
        right = next;
    }
    return left << m_halfBits | right;
}

}  // namespace shardscope::data
