// Which part of a recording a question is about. Everything by default.
#pragma once

#include "storage/model/recording.h"
#include "storage/model/result.h"

#include <optional>
#include <utility>
#include <vector>

namespace shardscope::questions {

struct Selection {
    std::vector<RankId> ranks;                           ///< none: all
    std::vector<std::pair<StepIndex, StepIndex>> steps;  ///< first and last; none: all
    std::optional<TimeRange> range;

    [[nodiscard]] bool takes(RankId rank) const;
    [[nodiscard]] bool takesStep(StepIndex step) const;
    /// Whether it leaves anything out of time.
    [[nodiscard]] bool cutsTime() const { return !steps.empty() || range.has_value(); }

    /// What is left of a recording's rows: the ranks that are selected and, of them, the steps that
    /// lie in the range whole, so that a figure of a step is never one of a part of it. kUsage:
    /// nothing is left, and why.
    [[nodiscard]] Result<RecordingSummary> of(const RecordingSummary& summary) const;
    /// The time of a rank that is looked at: its selected steps from the first one's beginning to
    /// the last one's end, no time where it has none of them, else the range, else everything.
    [[nodiscard]] TimeRange timeOf(const RecordingSummary& selected, RankId rank) const;
    /// What of a rank's events lies in its time: kernels, collectives and phases are cut at its
    /// edges, so that a step selected alone is as it is among all.
    [[nodiscard]] RankEvents of(const RecordingSummary& selected, RankEvents events) const;
    /// Where collectives themselves are counted and timed: whole ones, those of the selected steps
    /// wherever they lie, or those that lie in the range.
    [[nodiscard]] RankEvents wholeOf(const RecordingSummary& selected, RankEvents events) const;
};

}  // namespace shardscope::questions
