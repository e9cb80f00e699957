#include "profiler/analysis/memory/reserved_memory.h"

#include <algorithm>
#include <cmath>

namespace shardscope::analysis {
namespace {

/// Counters are real numbers, which a damaged file fills with anything.
Bytes bytesOf(const CounterEvent& sample) {
    constexpr double kMost = 1e18;
    return {std::isfinite(sample.value) ? std::llround(std::clamp(sample.value, 0.0, kMost)) : 0};
}

/// Values of a counter, asked for in order of time.
class InForce {
public:
    explicit InForce(const std::vector<CounterEvent>& samples) : m_samples(samples) {}
    /// Nothing before the first sample.
    std::optional<Bytes> at(Timestamp time) {
        while (m_next < m_samples.size() && m_samples[m_next].time <= time) ++m_next;
        if (m_next == 0) return std::nullopt;
        return bytesOf(m_samples[m_next - 1]);
    }

private:
    const std::vector<CounterEvent>& m_samples;
    std::size_t m_next = 0;
};

}  // namespace

std::optional<ReservedMemory> reservedMemory(const std::vector<CounterEvent>& reserved,
                                             const std::vector<CounterEvent>& allocated,
                                             Timestamp peakTime) {
    std::optional<ReservedMemory> found;
    InForce given(allocated);
    for (const CounterEvent& sample : reserved) {
        const auto known = given.at(sample.time);
        if (!known) continue;
        if (!found) found.emplace();
        const Bytes held = bytesOf(sample), slack = held - *known;
        found->most = std::max(found->most, held);
        if (slack > found->slack) {
            found->slack = slack;
            found->slackReserved = held;
            found->slackTime = sample.time;
        }
        if (sample.time <= peakTime) found->atPeak = held;
    }
    return found;
}

CounterChanges changesOf(const std::vector<CounterEvent>& samples, TimeRange range) {
    CounterChanges changes;
    for (std::size_t i = 1; i < samples.size(); ++i) {
        if (!range.contains(samples[i - 1].time) || !range.contains(samples[i].time)) continue;
        changes.grew += samples[i].value > samples[i - 1].value;
        changes.shrank += samples[i].value < samples[i - 1].value;
    }
    return changes;
}

std::vector<CounterEvent> allocatedSamples(const std::vector<MemoryEvent>& events) {
    std::vector<CounterEvent> samples;
    Bytes alive;
    for (const MemoryEvent& event : events) {
        if (event.category == MemoryCategory::kOutside) continue;
        if (event.action == MemoryAction::kAllocate)
            alive += event.size;
        else
            alive -= event.size;
        samples.push_back({event.time, {}, static_cast<double>(alive.count)});
    }
    return samples;
}

FreeBlocks freeBlocks(const std::vector<Bytes>& sizes) {
    FreeBlocks found;
    for (const Bytes size : sizes) {
        if (size.count <= 0) continue;
        ++found.blocks;
        found.all += size;
        found.largest = std::max(found.largest, size);
    }
    return found;
}

}  // namespace shardscope::analysis
