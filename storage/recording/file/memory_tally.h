// Bytes alive by category, event by event. A value; the writer keeps one a rank, the reader
// starts one from what the writer stored beside each memory chunk.
#pragma once

#include "storage/model/recording.h"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace shardscope::storage {

class MemoryTally {
public:
    using ByCategory = std::array<Bytes, kMemoryCategoryCount>;

    /// Whether the event set a new highest total.
    bool apply(const MemoryEvent& event);

    [[nodiscard]] const ByCategory& bytes() const { return m_bytes; }
    [[nodiscard]] Bytes total() const { return m_total; }
    [[nodiscard]] Bytes peak() const { return m_peak; }
    [[nodiscard]] Timestamp peakTime() const { return m_peakTime; }
    [[nodiscard]] const ByCategory& atPeak() const { return m_atPeak; }

    /// Forgets the peak: the next one counts from the present state at `time`.
    void restartPeak(Timestamp time);

    /// int64 LE a category.
    [[nodiscard]] static std::vector<std::byte> toBlob(const ByCategory& bytes);
    [[nodiscard]] static ByCategory fromBlob(std::span<const std::byte> blob);
    [[nodiscard]] static MemoryTally startingAt(const ByCategory& bytes);

private:
    ByCategory m_bytes{};
    Bytes m_total;
    Bytes m_peak;
    Timestamp m_peakTime;
    ByCategory m_atPeak{};
};

/// The samples of a memory lane over one chunk of events: its value at the first event, and one
/// wherever it changes. `events` is not empty.
[[nodiscard]] std::vector<CounterEvent> laneSamples(MemoryTally before, LaneId lane,
                                                    const std::vector<MemoryEvent>& events);

}  // namespace shardscope::storage
