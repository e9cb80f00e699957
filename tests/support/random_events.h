// Random but reproducible events for property tests.
#pragma once

#include "storage/model/events.h"

#include <cstdint>
#include <random>
#include <vector>

namespace shardscope::test {

class RandomEvents {
public:
    explicit RandomEvents(std::uint64_t seed) : m_engine(seed) {}

    /// In [low, high].
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(m_engine);
    }
    /// Any 64 bits.
    std::uint64_t bits() { return m_engine(); }
    /// Mostly small, sometimes huge: lengths of any order of magnitude up to 2^maxBits.
    std::int64_t magnitude(int maxBits) {
        return static_cast<std::int64_t>(bits() >> (64 - between(1, maxBits)));
    }

    /// By start; every field over its whole range.
    std::vector<SpanEvent> spans(std::size_t count);
    std::vector<MemoryEvent> memory(std::size_t count);
    std::vector<CounterEvent> counters(std::size_t count);
    std::vector<CollectiveEvent> collectives(std::size_t count);
    std::vector<FlowEvent> flows(std::size_t count);
    std::vector<InstantEvent> instants(std::size_t count);

    /// Well nested spans of one lane, as operators are: by start, depths 0 to 3.
    std::vector<SpanEvent> nestedSpans(std::size_t count, Timestamp from);

private:
    std::mt19937_64 m_engine;
};

}  // namespace shardscope::test
