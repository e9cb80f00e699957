#include "storage/recording/file/memory_tally.h"

#include <algorithm>
#include <cstring>

namespace shardscope::storage {
namespace {

/// Sums wrap instead of overflowing: a hostile recording may hold absurd sizes.
Bytes wrappedSum(Bytes a, Bytes b) {
    return {static_cast<std::int64_t>(static_cast<std::uint64_t>(a.count) +
                                      static_cast<std::uint64_t>(b.count))};
}

double valueOf(const MemoryTally& tally, LaneId lane) {
    if (lane == kMemoryTotalLane) return static_cast<double>(tally.total().count);
    const std::size_t category = lane.value - memoryLane({}).value;
    if (category >= tally.bytes().size()) return 0;
    return static_cast<double>(tally.bytes()[category].count);
}

}  // namespace

bool MemoryTally::apply(const MemoryEvent& event) {
    const Bytes change =
        event.action == MemoryAction::kAllocate ? event.size : Bytes{-event.size.count};
    Bytes& category = m_bytes[static_cast<std::size_t>(event.category)];
    category = wrappedSum(category, change);
    m_total = wrappedSum(m_total, change);
    if (m_total <= m_peak) return false;
    m_peak = m_total;
    m_peakTime = event.time;
    m_atPeak = m_bytes;
    return true;
}

void MemoryTally::restartPeak(Timestamp time) {
    m_peak = m_total;
    m_peakTime = time;
    m_atPeak = m_bytes;
}

std::vector<std::byte> MemoryTally::toBlob(const ByCategory& bytes) {
    std::vector<std::byte> blob(bytes.size() * 8);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        std::memcpy(blob.data() + i * 8, &bytes[i].count, 8);
    return blob;
}

MemoryTally::ByCategory MemoryTally::fromBlob(std::span<const std::byte> blob) {
    ByCategory bytes{};
    const std::size_t count = std::min(bytes.size(), blob.size() / 8);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(&bytes[i].count, blob.data() + i * 8, 8);
    return bytes;
}

MemoryTally MemoryTally::startingAt(const ByCategory& bytes) {
    MemoryTally tally;
    tally.m_bytes = bytes;
    for (const Bytes& category : bytes) tally.m_total = wrappedSum(tally.m_total, category);
    tally.restartPeak({});
    return tally;
}

std::vector<CounterEvent> laneSamples(MemoryTally tally, LaneId lane,
                                      const std::vector<MemoryEvent>& events) {
    std::vector<CounterEvent> samples{{events.front().time, lane, valueOf(tally, lane)}};
    for (const MemoryEvent& event : events) {
        tally.apply(event);
        if (lane == kMemoryTotalLane || lane == memoryLane(event.category))
            samples.push_back({event.time, lane, valueOf(tally, lane)});
    }
    return samples;
}

}  // namespace shardscope::storage
