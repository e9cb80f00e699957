// What a right click on a slice offers, and how a slice reads on the clipboard.
#pragma once

#include "app/desktop/pages/timeline/slice_details.h"
#include "app/desktop/pages/timeline/timeline_viewport.h"

#include <QString>
#include <functional>

class QMenu;

namespace shardscope::desktop {

/// "name\tvalue" a line, the title first.
[[nodiscard]] QString sliceText(const SliceDetails& details);
/// Full precision: name, rank, lane, times in nanoseconds, arguments as they were recorded.
[[nodiscard]] QString sliceJson(const LaneFacts& lane, const SliceView& slice);

struct SliceActions {
    std::function<void()> zoom, selectTime, find, filterTable;
};
/// Deletes itself when it is closed.
[[nodiscard]] QMenu* makeSliceMenu(QWidget* parent, const SliceDetails& details,
                                   const LaneFacts& lane, const SliceView& slice,
                                   const SliceActions& actions);

}  // namespace shardscope::desktop
