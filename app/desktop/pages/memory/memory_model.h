// What the Memory page says: sentence, peak table, bars per rank. Pure.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/selection.h"
#include "app/desktop/models/table_model.h"

#include <QString>
#include <optional>
#include <vector>

namespace shardscope::desktop {

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
