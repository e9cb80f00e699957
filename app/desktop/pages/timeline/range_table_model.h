// The table of the selected range. Pure.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/selection.h"
#include "app/desktop/models/table_model.h"
#include "app/desktop/pages/timeline/timeline_frame.h"

namespace shardscope::desktop {

[[nodiscard]] std::vector<TableColumn> rangeColumns();
[[nodiscard]] TableRows rangeRows(const RangeTable& table);
/// "in steps 4-7", "in the whole run".
[[nodiscard]] QString whereText(const OpenRecording& recording, const Selection& selection);
/// What the table is of, and its shares: "in steps 4-7 · shares of 2 ranks x 4.86 ms".
[[nodiscard]] QString rangeCaption(const OpenRecording& recording, const Selection& selection,
                                   const RangeTable& table);

}  // namespace shardscope::desktop
