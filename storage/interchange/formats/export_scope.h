// What of a recording is exported: ranks and range, and walks over them in bounded memory.
#pragma once

#include "storage/interchange/export.h"
#include "storage/interchange/held_steps.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace shardscope::interchange {

/// One export in work. Lives as long as the reader and options it was made from; one thread.
class ExportScope {
public:
    /// kUsage when a rank is not in the recording or the range is empty.
    static Result<ExportScope> of(storage::RecordingReader& reader, const ExportOptions& options);

    [[nodiscard]] storage::RecordingReader& reader() const { return *m_reader; }
    [[nodiscard]] const RecordingSummary& summary() const { return m_summary; }
    [[nodiscard]] const std::vector<RankId>& ranks() const { return m_ranks; }
    /// As asked for, or around everything stored.
    [[nodiscard]] TimeRange range() const { return m_range; }
    /// What of it is the rank's: where steps were asked for, from its own first to its own last;
    /// empty where it has none of them.
    [[nodiscard]] TimeRange range(RankId rank) const;
    /// From here on, of ranks whose steps lie elsewhere.
    void setRange(TimeRange range) {
        m_range = range;
        m_own.clear();
    }
    /// The steps that are written as such, and what goes with them.
    [[nodiscard]] HeldSteps heldSteps() const;
    /// Lanes of a rank, top first.
    [[nodiscard]] std::vector<LaneFacts> lanes(RankId rank) const;
    /// Lanes that hold parts of one stack together, of those given: what a host thread ran, whose
    /// categories are lanes of their own. Others alone. In the order of the first of each.
    [[nodiscard]] static std::vector<std::vector<LaneFacts>> byThread(
        const std::vector<LaneFacts>& lanes);

    /// Spans of a lane that touch the range, by start, enclosing ones first. Each is shown once.
    Result<void> forEachSpan(const LaneFacts& lane,
                             const std::function<void(const SpanEvent&)>& show);
    /// Likewise of several lanes of one rank as if they were one: their depths are those that their
    /// spans have together.
    Result<void> forEachSpan(std::span<const LaneFacts> lanes,
                             const std::function<void(const SpanEvent&)>& show);
    /// Samples of a counter lane within the range, with the value in force at its beginning.
    /// Several at the same nanosecond are one: the last.
    Result<void> forEachSample(const LaneFacts& lane,
                               const std::function<void(Timestamp, double)>& show);
    /// Every stored sample of a counter lane within the range, those of the same time as well.
    Result<void> forEachStoredSample(const LaneFacts& lane,
                                     const std::function<void(Timestamp, double)>& show);
    /// Instants and flow events of a lane within the range, by time.
    Result<void> forEachInstant(const LaneFacts& lane,
                                const std::function<void(const InstantEvent&)>& show);
    Result<void> forEachFlow(const LaneFacts& lane,
                             const std::function<void(const FlowEvent&)>& show);
    /// Memory events of a rank within the range, by time.
    Result<void> forEachMemoryEvent(RankId rank,
                                    const std::function<void(const MemoryEvent&)>& show);

    /// Stretches of the rank's range with about kWindowEvents of a kind's `events` each.
    [[nodiscard]] std::vector<TimeRange> windows(RankId rank, std::uint64_t events) const;

    /// Tells of `events` more done; kCancelled when the user has had enough.
    Result<void> advance(std::uint64_t events);

private:
    ExportScope() = default;
    storage::RecordingReader* m_reader = nullptr;
    const ExportOptions* m_options = nullptr;
    RecordingSummary m_summary;
    std::vector<RankId> m_ranks;
    TimeRange m_range;
    std::map<RankId, TimeRange> m_own;  ///< where steps were asked for
    std::uint64_t m_done = 0;           ///< events
    double m_expected = 1;              ///< events in all, about
};

/// The ranks that are written where these are asked for (none: all), by number. kUsage: one of them
/// is not in the recording.
[[nodiscard]] Result<std::vector<RankId>> exportedRanks(const RecordingSummary& summary,
                                                        const std::vector<RankId>& wanted);

/// "rank 0 (NVIDIA H200)"
[[nodiscard]] std::string rankTitle(const RecordingSummary& summary, RankId rank);
/// "layer 3", "root"; empty for none.
[[nodiscard]] std::string layerTitle(LayerIndex layer);

}  // namespace shardscope::interchange
