// Kinds of lanes that the table of a range distinguishes. Pure.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/pages/timeline/timeline_frame.h"

#include <QString>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// Nullopt: counters, which have no spans.
[[nodiscard]] std::optional<RangeKind> rangeKind(const LaneFacts& lane);
/// Of an event on a lane of `kind`: calibration is work like any other, but apart from it.
[[nodiscard]] RangeKind rangeKind(RangeKind kind, const SpanEvent& span);
/// Whether events of `kind` may lie on a lane.
[[nodiscard]] bool mayHold(const LaneFacts& lane, RangeKind kind);
/// Those that the lanes may hold events of, what answers most first.
[[nodiscard]] std::vector<RangeKind> rangeKinds(const RecordingSummary& summary);
/// "CUDA calls"
[[nodiscard]] QString rangeKindName(RangeKind kind);
/// From which capture level on there are such events.
[[nodiscard]] CaptureLevel rangeKindLevel(RangeKind kind);
/// The run's capture level holds less; false where it is not known.
[[nodiscard]] bool isBelow(const OpenRecording& recording, CaptureLevel least);
/// What a lane of the kind is: "stream", "thread", "rank".
[[nodiscard]] QString rangeKindLane(RangeKind kind);

}  // namespace shardscope::desktop
