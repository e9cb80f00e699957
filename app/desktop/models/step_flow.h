// How one step of a rank flows: what is fetched, computed, released, reduced, and when. From the
// phases and collectives that were recorded. Pure.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "storage/model/recording.h"

#include <QString>
#include <vector>

namespace shardscope::desktop {

/// A stretch of a row; on the row's axis.
struct RowSpan {
    double begin = 0;
    double end = 0;
    Meaning meaning = Meaning::kCompute;
    QString text;     ///< on it, where it fits: "3" of block 3
    QString details;  ///< under the pointer
};

struct SpanRow {
    QString label;
    std::vector<RowSpan> spans;  ///< by begin
};

/// In ms from the step's beginning. Rows that hold nothing are left out; none where `events` has
/// neither phases nor collectives of the step.
[[nodiscard]] std::vector<SpanRow> stepFlow(const StepFacts& step, const RankEvents& events);

/// The step of `rank` whose time is nearest to the median of the rank's; null: it has none.
[[nodiscard]] const StepFacts* typicalStep(const RecordingSummary& summary, RankId rank);

}  // namespace shardscope::desktop
