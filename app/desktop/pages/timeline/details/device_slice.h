// What a slice of a GPU rank says: kernels with how they were launched, copies, CUDA calls, waits,
// and the way from a kernel to its launch. Pure.
#pragma once

#include "app/desktop/pages/timeline/timeline_frame.h"

#include <QString>
#include <utility>
#include <vector>

namespace shardscope::desktop {

/// Others of its rank share its correlation: a kernel its launch, a call what it started.
[[nodiscard]] bool mayBeLinked(LaneId lane, const SliceView& slice);

/// Names and values for the details: operator, grid, block, registers, bytes, bandwidth; of a
/// kernel, that it was not recorded how it was launched.
[[nodiscard]] std::vector<std::pair<QString, QString>> tracedRows(LaneRole role,
                                                                  const SliceView& slice);
/// Arguments that those rows leave out, by name; objects and lists as JSON.
[[nodiscard]] std::vector<std::pair<QString, QString>> otherArguments(const SliceView& slice);
/// The kernel's whole name with its parameters; empty when the slice's name is all of it.
[[nodiscard]] QString wholeKernelName(const SliceView& slice);
/// "ncclDevKernel_AllGather_RING_LL": all-gather.
[[nodiscard]] std::optional<CollectiveOp> collectiveOfKernel(const QString& name);

/// What the details say of linked slices, and where a click or key leads.
struct LinkTexts {
    std::vector<std::pair<QString, QString>> rows;
    QString action;  ///< of the button; empty: there is nowhere to go
};
/// One line a linked slice: "backward: LinearBackward", "rank 3: all-gather, 12 us later".
[[nodiscard]] std::vector<QString> wayTexts(const RecordingSummary& summary, const SliceView& slice,
                                            const std::vector<LinkedSlice>& links);
[[nodiscard]] LinkTexts linkTexts(const RecordingSummary& summary, LaneAddress from,
                                  const SliceView& slice, const std::vector<LinkedSlice>& links);

}  // namespace shardscope::desktop
