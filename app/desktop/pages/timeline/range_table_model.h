// The table of the selected range and the Timeline's sentence. Pure.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/selection.h"
#include "app/desktop/models/table_model.h"
#include "app/desktop/pages/timeline/timeline_frame.h"

namespace shardscope::desktop {

[[nodiscard]] std::vector<TableColumn> rangeColumns();
[[nodiscard]] std::vector<std::vector<TableCell>> rangeRows(const RangeTable& table);
/// The Timeline's sentences on what is selected.
struct RangeTexts {
    QString headline, subline;
};
[[nodiscard]] RangeTexts rangeTexts(const OpenRecording& recording, const Selection& selection);

}  // namespace shardscope::desktop
