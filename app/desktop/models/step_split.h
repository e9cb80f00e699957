// What each step was spent on, as columns of a chart. Pure.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/selection.h"
#include "profiler/analysis/steps/ledger.h"
#include "storage/model/recording.h"

#include <QString>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// Rows of the ledger by steps. Where there are more than a screen has room for, neighbours share a
/// column, and the slowest of them is what it shows. No texts: what is not shown costs little.
struct StepSums {
    struct Column {
        StepSpan steps;
        analysis::LedgerParts parts{};
        std::int64_t rows = 0;
        /// Of steps without a row: what they were spent on is unknown.
        Duration bare;
        std::int64_t bareRows = 0;
    };
    std::vector<Column> columns;
    std::size_t each = 1;  ///< steps of a column
    analysis::LedgerParts all{};
};
/// `rank`: of that one alone. `steps`: all that were recorded, with detail or without.
[[nodiscard]] StepSums sumSteps(const std::vector<analysis::LedgerRow>& rows,
                                const std::vector<StepFacts>& steps,
                                std::optional<RankId> rank = std::nullopt);

struct StepSplit {
    std::vector<StackedBar> columns;  ///< in ms
    std::vector<LegendEntry> legend;
    std::vector<StepSpan> steps;  ///< of each column
    QString across;               ///< what columns are
};

/// A column each, the mean over its rows.
[[nodiscard]] StepSplit stepSplit(const StepSums& sums);

// How one step of a rank flows: what is fetched, computed, released, reduced, and when. From the
// phases and collectives that were recorded. Pure.

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
