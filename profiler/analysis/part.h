// Of a summary that holds a part of a run: what was cut out of a recording, or selected in one.
// Pure.
#pragma once

#include "profiler/analysis/report/report.h"

#include <cstddef>
#include <optional>

namespace shardscope::analysis {

// Codes of what a selection notes in the summary of what it selected: of its time, where the count
// is that of the steps before; and of its ranks.
inline constexpr const char* kSelectedPart = "selected-part";
inline constexpr const char* kSelectedRanks = "selected-ranks";

[[nodiscard]] bool isSelected(const RecordingSummary& summary);
/// How many of the run's steps lie before the first of `summary`, as far as it tells.
[[nodiscard]] std::size_t stepsBefore(const RecordingSummary& summary);

/// How many of its steps have phases and collectives on every rank; and a copy with these alone,
/// where that is another one.
struct DetailedPart {
    StepBasis basis;
    std::optional<RecordingSummary> summary;
    [[nodiscard]] const RecordingSummary& of(const RecordingSummary& whole) const {
        return summary ? *summary : whole;
    }
};
[[nodiscard]] DetailedPart detailedPart(const RecordingSummary& summary);

/// For callers that have left the warm-up out: every remaining step counts as steady.
void keepAllSteps(RecordingSummary& summary);

/// Gives the report of a part what is true of the whole recording only: its certificate, what was
/// dropped and noted, how much there is of it, whether it is finished.
void takeTrust(const Report& whole, Report& part);

/// Of a recording whose writer is at work: nothing of it can be judged for good. `why`: what goes
/// on.
void markRunning(Report& report, const char* why = "the run is being recorded");

}  // namespace shardscope::analysis
