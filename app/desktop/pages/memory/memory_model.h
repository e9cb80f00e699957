// What the Memory page says: sentence, peak table, bars per rank. Pure.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/selected_part.h"
#include "app/desktop/models/table_model.h"

#include <QString>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// What a device's allocator has taken from the driver, as a counter; null where not recorded.
[[nodiscard]] const LaneFacts* findReservedLane(const RecordingSummary& summary,
                                                std::optional<RankId> rank = std::nullopt);
/// The selected rank that needs most; null: of none is it known.
[[nodiscard]] const analysis::RankMemory* worstRank(const SelectedPart& part);
/// Why there are no memory events, and how to get them.
[[nodiscard]] QString noMemoryText(const SelectedPart& part);
/// Selected ranks with memory events: few as numbered, of many those with the highest peaks first.
[[nodiscard]] std::vector<RankId> ranksByPeak(const SelectedPart& part);
/// What pictures show: the selection; of a whole run from its first step on.
[[nodiscard]] TimeRange memoryRange(const SelectedPart& part);
[[nodiscard]] QString memoryHeadline(const SelectedPart& part);
/// `moment`: what the rank did at the peak (momentText); empty: not known yet.
[[nodiscard]] QString memorySubline(const SelectedPart& part, const QString& moment);
[[nodiscard]] std::vector<StackedBar> memoryBars(const SelectedPart& part);
/// `drawn`: beside what a peak or theory has, as of pictures over time.
[[nodiscard]] std::vector<LegendEntry> memoryLegend(const SelectedPart& part,
                                                    const std::vector<MemoryCategory>& drawn);
/// `theory`: whether the recording says what theory expects; without it both have less columns.
[[nodiscard]] std::vector<TableColumn> memoryColumns(bool theory);
[[nodiscard]] std::vector<std::vector<TableCell>> memoryRows(const analysis::RankMemory& memory);
/// "step 3, backward of block 2": what a rank did at `time`; `phases`: those around it.
[[nodiscard]] QString momentText(const RecordingSummary& summary, RankId rank, Timestamp time,
                                 const std::vector<SpanEvent>& phases);

}  // namespace shardscope::desktop
