// Steps of two runs beside each other, by number: which both have, where each lies after the first
// one's beginning, and what it differs by. Pure.
#pragma once

#include "app/desktop/models/selection.h"
#include "app/desktop/pages/timeline/canvas/timeline_viewport.h"
#include "storage/model/recording.h"

#include <QString>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// Which steps of two runs stand below each other.
struct StepMatch {
    StepSpan steps;          ///< that both have, by the baseline's numbers
    std::int32_t shift = 0;  ///< the judged run's are so much higher; 0 unless none is in both
    StepSpan usual;          ///< three around the judged run's median, where most is recorded
};
/// nullopt: one of them has no steps of this rank.
[[nodiscard]] std::optional<StepMatch> matchSteps(const RecordingSummary& baseline,
                                                  const RecordingSummary& judged, RankId rank);
/// Ranks that both have, by number.
[[nodiscard]] std::vector<RankId> ranksOfBoth(const RecordingSummary& baseline,
                                              const RecordingSummary& judged);

/// A step of both; times count from the beginning of the first step that is shown.
struct StepPair {
    StepIndex before, after;                    ///< its number in each
    std::optional<TimeRange> baseline, judged;  ///< nullopt: that run lacks it
};
struct StepPairs {
    std::vector<StepPair> pairs;
    Timestamp baselineOrigin, judgedOrigin;  ///< beginnings of the first step
    Duration longest;                        ///< of both, to the end of the last step
};
[[nodiscard]] StepPairs pairSteps(const RecordingSummary& baseline, const RecordingSummary& judged,
                                  RankId rank, StepSpan steps, std::int32_t shift);

/// "+35.0 ms (+3.7 %)"; empty: one lacks it.
[[nodiscard]] QString differenceText(const StepPair& pair);
/// "step 19 · A 947 ms · B 982 ms · +35.0 ms (+3.7 %)"
[[nodiscard]] QString pairText(const StepPair& pair, const QString& baseline,
                               const QString& judged);
/// Of all of them together; empty: not one is in both.
[[nodiscard]] QString sumText(const StepPairs& pairs, const QString& baseline,
                              const QString& judged);

/// The same part in the other run: same lane, name, layer and phase, in the step beside it, nearest
/// in its course. nullopt: it is not there, or not distinguished here. `step`: of `part`, `there`:
/// that beside it, in the other run's time.
[[nodiscard]] std::optional<TimelineHit> samePart(const TimelineHit& part, TimeRange step,
                                                  const TimelineFrame& other, TimeRange there);
/// "all-gather, block 3: A 3.20 ms, B 4.10 ms, +900 µs (+28.1 %)"; `own`: of which run `part` is.
[[nodiscard]] QString partText(const TimelineHit& part, const std::optional<TimelineHit>& same,
                               bool isJudged, const QString& baseline, const QString& judged);

}  // namespace shardscope::desktop
