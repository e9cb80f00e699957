// What the Memory page says: sentence, peak table, bars per rank. Pure.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/selection.h"
#include "app/desktop/models/table_model.h"
#include "app/desktop/models/timeline_frame.h"

#include <QString>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// Categories from the bottom of the stack to its top: what stays first. Memory outside the
/// allocator lies on top, so that theory and reserve meet the stack where they speak of it.
[[nodiscard]] const std::vector<MemoryCategory>& stackOrder();
/// What a device's allocator has taken from the driver, as a counter; null where not recorded.
[[nodiscard]] const LaneFacts* findReservedLane(const RecordingSummary& summary,
                                                std::optional<RankId> rank = std::nullopt);
[[nodiscard]] const analysis::RankMemory* worstRank(const OpenRecording& recording,
                                                    const Selection& selection);
[[nodiscard]] QString memoryHeadline(const OpenRecording& recording, const Selection& selection);
[[nodiscard]] QString memorySubline(const OpenRecording& recording, const Selection& selection);
[[nodiscard]] std::vector<StackedBar> memoryBars(const OpenRecording& recording,
                                                 const Selection& selection);
[[nodiscard]] std::vector<LegendEntry> memoryLegend(const OpenRecording& recording);
[[nodiscard]] std::vector<TableColumn> memoryColumns();
[[nodiscard]] std::vector<std::vector<TableCell>> memoryRows(const analysis::RankMemory& memory);
/// Where in the run the peak was: "step 14, backward of block 5".
[[nodiscard]] QString peakMoment(const OpenRecording& recording, RankId rank, Timestamp time);

}  // namespace shardscope::desktop
