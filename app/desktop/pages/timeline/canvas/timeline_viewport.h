// What the timeline shows and where: the stretch of time, the lanes, how far down one has scrolled.
// In pixels of the canvas' viewport; paints nothing, queries nothing. GUI thread.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/pages/timeline/lanes/lane_actions.h"
#include "app/desktop/pages/timeline/lanes/lane_layout.h"
#include "app/desktop/pages/timeline/lanes/track_levels.h"
#include "app/desktop/pages/timeline/timeline_frame.h"

#include <QPointF>
#include <QRectF>
#include <QSizeF>
#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// What the times of the ruler count from.
enum class RulerTime {
    kAbsolute,  ///< the recording's zero
    kRelative,  ///< the first mark, else the left edge
    kStep,      ///< the begin of the step
};

/// A step as the ruler shows it: of the first rank in sight; those of others lie close by.
struct StepMark {
    StepIndex step;
    TimeRange range;
};

/// A slice and where it lies.
struct TimelineHit {
    LaneAddress key;
    LaneRole role = LaneRole::kHost;
    SliceView slice;
};

class TimelineViewport {
public:
    TimelineViewport();
    /// The whole run, all ranks; many ranks are folded. One that has grown stays as it was shown.
    /// Null: nothing.
    void setRecording(const RecordingPtr& recording);
    void setSize(QSizeF size);
    /// Rows that scroll are this much higher.
    void setTop(int top) { m_top = top; }
    /// Within its bounds.
    void setView(TimeRange view);
    /// What the view stays within, also where the recording is shorter; nullopt: the recording.
    void setBounds(std::optional<TimeRange> bounds);
    /// Names take no less, so that canvases below each other have one axis.
    void setLeastLabelWidth(int width);
    /// Steps begin with a line down through the lanes.
    void setStepLines(bool lines) { m_stepLines = lines; }
    void setRulerTime(RulerTime time) { m_rulerTime = time; }
    /// Folds, order and filter of another canvas.
    void takeOptions(const LaneLayoutOptions& options);
    /// False: they are the same.
    bool setRanks(const std::vector<RankId>& ranks);
    bool setRankOrder(const std::vector<RankId>& order);
    bool setFilter(const QString& text);
    /// What one thread or stream does as one track, or its kinds apart. Stays for other recordings.
    bool setNested(bool nested);
    /// False: nothing was learnt.
    bool addDepths(const LaneDepths& depths);
    /// Likewise, from what was loaded.
    bool addDepths(const TimelineFrame& frame);
    /// Folds or unfolds what a header stands for.
    void toggle(const LaneRow& header) { apply(LaneAction::kFold, &header); }
    void nextRulerTime();
    /// The first mark, from which relative times count; nullopt: the left edge.
    void setOrigin(std::optional<Timestamp> origin) { m_origin = origin; }
    void apply(LaneAction action, const LaneRow* row);
    /// Unfolds what hides a lane, and shows the levels of its row down to `level`.
    void reveal(LaneAddress key, int level = 0);

    [[nodiscard]] const RecordingPtr& recording() const { return m_recording; }
    [[nodiscard]] TimeRange view() const { return m_scale.range; }
    [[nodiscard]] const TimeScale& scale() const { return m_scale; }
    [[nodiscard]] const LaneLayout& lanes() const { return m_layout; }
    [[nodiscard]] const LaneLayoutOptions& options() const { return m_options; }
    [[nodiscard]] TimeRange bounds() const;
    [[nodiscard]] int labelWidth() const { return std::max(m_labelWidth, m_leastLabelWidth); }
    /// What the names alone need.
    [[nodiscard]] int fittedLabelWidth() const { return m_labelWidth; }
    [[nodiscard]] bool stepLines() const { return m_stepLines; }
    [[nodiscard]] int top() const { return m_top; }
    [[nodiscard]] Timestamp origin() const { return m_origin.value_or(view().begin); }
    [[nodiscard]] const std::vector<StepMark>& steps() const { return m_steps; }
    [[nodiscard]] RulerTime rulerTime() const { return m_rulerTime; }
    [[nodiscard]] QSizeF size() const { return m_size; }

    /// Below the ruler, right of the names.
    [[nodiscard]] QRectF lanesArea() const;
    /// Its part in which lanes scroll, below pinned ones.
    [[nodiscard]] QRectF scrollArea() const;
    [[nodiscard]] QRectF rowArea(const LaneRow& row) const;
    /// Rows of which some is in sight, pinned ones first.
    void forRowsInSight(const std::function<void(const LaneRow&)>& use) const;
    [[nodiscard]] StickyHeaders sticky() const { return m_layout.stickyAt(m_top); }
    /// Where a header that sticks is drawn.
    [[nodiscard]] QRectF stickyArea(const LaneRow& header, int y) const;
    [[nodiscard]] Timestamp timeAt(double x) const;
    /// x of a moment, outside the lanes too.
    [[nodiscard]] double xOf(Timestamp time) const { return lanesArea().left() + m_scale.x(time); }
    /// Null: there is none, or it is the ruler. Beside a header's name its lane.
    [[nodiscard]] const LaneRow* rowAt(double y) const;
    /// What the names at this height stand for: a header before its lane, one that sticks before
    /// what it covers.
    [[nodiscard]] const LaneRow* nameAt(double y) const;
    [[nodiscard]] std::optional<TimelineHit> hitAt(const TimelineFrame& frame, QPointF at) const;
    /// The slice of a row in sight that is nearest to a time; the outermost of those that hold it.
    [[nodiscard]] std::optional<TimelineHit> nearestIn(const LaneRow& row,
                                                       const TimelineFrame& frame,
                                                       Timestamp time) const;
    /// On which level of its row a slice stands; `frame`: what is shown, null: nothing yet.
    [[nodiscard]] static int levelIn(const LaneRow& row, LaneAddress key, const SliceView& slice,
                                     const TimelineFrame* frame);
    /// Where a slice lies that is shown; nullopt: its lane or level is not.
    [[nodiscard]] std::optional<QRectF> boxOf(LaneAddress key, const SliceView& slice,
                                              const TimelineFrame* frame) const;
    /// What a picture of this needs; nullopt: nothing is to be seen.
    [[nodiscard]] std::optional<TimelineQuery> query() const;
    /// Lanes of rows of the query of which it is not known how deep they are.
    [[nodiscard]] std::vector<std::vector<LaneAddress>> unknownDepths() const;

private:
    void layOut();
    void fitLabels();
    [[nodiscard]] bool learn(const std::vector<LaneAddress>& lanes, int levels);

    RecordingPtr m_recording;
    LaneLayoutOptions m_options;
    LaneLayout m_layout;
    TimeScale m_scale;
    QSizeF m_size;
    std::vector<StepMark> m_steps;
    std::optional<Timestamp> m_origin;
    std::optional<TimeRange> m_bounds;
    RulerTime m_rulerTime = RulerTime::kAbsolute;
    bool m_stepLines = false;
    int m_top = 0;
    int m_labelWidth, m_leastLabelWidth = 0;
};

}  // namespace shardscope::desktop
