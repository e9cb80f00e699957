// What the timeline shows and where: the stretch of time, the lanes, how far down one has scrolled.
// In pixels of the canvas' viewport; paints nothing, asks nobody. GUI thread.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/pages/timeline/lane_layout.h"
#include "app/desktop/pages/timeline/timeline_frame.h"

#include <QPointF>
#include <QRectF>
#include <QSizeF>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// A slice and where it lies.
struct TimelineHit {
    LaneAddress key;
    LaneRole role = LaneRole::kHost;
    SliceView slice;
};

class TimelineViewport {
public:
    TimelineViewport();
    /// The whole run, all ranks, nothing folded. Null: nothing.
    void setRecording(const RecordingPtr& recording);
    void setSize(QSizeF size);
    /// Rows above this height are out of sight.
    void setTop(int top) { m_top = top; }
    /// As far as the recording goes.
    void setView(TimeRange view);
    /// False: they are the same.
    bool setRanks(const std::vector<RankId>& ranks);
    /// Folds or unfolds what a header stands for.
    void toggle(const LaneRow& header);
    /// Unfolds what hides a lane.
    void reveal(LaneAddress key);

    [[nodiscard]] const RecordingPtr& recording() const { return m_recording; }
    [[nodiscard]] TimeRange view() const { return m_scale.range; }
    [[nodiscard]] const TimeScale& scale() const { return m_scale; }
    [[nodiscard]] const LaneLayout& lanes() const { return m_layout; }
    [[nodiscard]] int labelWidth() const { return m_labelWidth; }
    [[nodiscard]] int top() const { return m_top; }
    [[nodiscard]] QSizeF size() const { return m_size; }

    /// Below the ruler, right of the names.
    [[nodiscard]] QRectF lanesArea() const;
    [[nodiscard]] QRectF rowArea(const LaneRow& row) const;
    /// Some of it is in sight.
    [[nodiscard]] bool shows(const LaneRow& row) const;
    [[nodiscard]] Timestamp timeAt(double x) const;
    /// x of a moment, outside the lanes too.
    [[nodiscard]] double xOf(Timestamp time) const { return lanesArea().left() + m_scale.x(time); }
    /// Null: there is none, or it is the ruler.
    [[nodiscard]] const LaneRow* rowAt(double y) const;
    [[nodiscard]] std::optional<TimelineHit> hitAt(const TimelineFrame& frame, QPointF at) const;
    /// What a picture of this needs; nullopt: nothing is to be seen.
    [[nodiscard]] std::optional<TimelineQuery> query() const;

private:
    void layOut();
    void fitLabels();

    RecordingPtr m_recording;
    LaneLayoutOptions m_options;
    LaneLayout m_layout;
    TimeScale m_scale;
    QSizeF m_size;
    int m_top = 0;
    int m_labelWidth;
};

}  // namespace shardscope::desktop
