// The timeline itself: what is shown (timeline_viewport), where the mouse is (timeline_pointer) and
// what was picked, painted (timeline_lanes, timeline_overlay) and changed by keys, wheel and mouse.
// Draws what was loaded last, to scale, until the next picture comes. GUI thread.
#pragma once

#include "app/desktop/models/rank_order.h"
#include "app/desktop/pages/timeline/canvas/timeline_overlay.h"
#include "app/desktop/pages/timeline/canvas/timeline_pointer.h"
#include "app/desktop/pages/timeline/canvas/timeline_viewport.h"
#include "app/desktop/widgets/pictures/spoken_picture.h"

#include <QAbstractScrollArea>
#include <QLineEdit>
#include <QPixmap>
#include <QToolButton>
#include <functional>
#include <optional>
#include <string>
#include <vector>

class QMenu;

namespace shardscope::desktop {

enum class TimelineCommand {
    kNone,
    kZoomIn,
    kZoomOut,
    kPanLeft,
    kPanRight,
    kScrollUp,
    kScrollDown,
    kFit,
    kZoomToSelection,
    kNextSlice,
    kPreviousSlice,
    kLaneAbove,  ///< to the slice there
    kLaneBelow,
    kNextRank,
    kPreviousRank,
    kFollowBack,     ///< from a kernel to its launch
    kFollowForward,  ///< from a launch to its kernel
    kMark,
    kClear,
    kLevels,  ///< all levels of the lane under the pointer, or the first few
    kTaller,  ///< a counter
    kPin,
    kHide,
    kShowHidden,
    kMoveUp,  ///< of the lane or rank under the pointer
    kMoveDown,
    kFoldAll,
    kUnfoldAll,
    kKinds,      ///< of a thread: nested in one track, or apart
    kFilter,     ///< lanes by a text
    kRulerTime,  ///< absolute, relative, in the step
};

class TimelineCanvas : public QAbstractScrollArea {
    Q_OBJECT

public:
    explicit TimelineCanvas(QWidget* parent = nullptr);

    void setRecording(const RecordingPtr& recording);
    void setRanks(const std::vector<RankId>& ranks);
    /// Orders that the menu of ranks offers beside the one by rank. One that was chosen stays, by
    /// its figures now.
    void setRankFigures(std::vector<RankFigure> figures);
    /// Top first, of ranks that are shown; those that are left out follow.
    void setRankOrder(const std::vector<RankId>& order);
    void setFrame(const TimelineFramePtr& frame);
    /// How many levels lanes have.
    void setDepths(const LaneDepths& depths);
    /// What one thread or stream does as one track, or its kinds apart.
    void setNested(bool nested);
    /// Shows only lanes whose rank, group or name has `text`; empty: all.
    void setFilter(const QString& text);
    void setView(TimeRange view);
    /// For one of several canvases below each other: times count from `origin`, the view stays
    /// within `bounds`, steps have lines. Until another recording is shown.
    void setStretch(Timestamp origin, TimeRange bounds);
    void setLeastLabelWidth(int width);
    /// Folds, order and filter of another canvas.
    void takeLaneOptions(const LaneLayoutOptions& options);
    /// What another one points at.
    void setShadow(std::optional<Timestamp> time, const std::optional<TimelineHit>& hit);
    [[nodiscard]] const std::optional<TimelineHit>& shadow() const { return m_picks.shadow; }
    /// Under the pointer; nullopt: it is not over a slice, or elsewhere.
    [[nodiscard]] const std::optional<TimelineHit>& hoveredSlice() const { return m_picks.hovered; }
    [[nodiscard]] std::optional<Timestamp> pointedTime() const;
    [[nodiscard]] const TimelineFramePtr& frame() const { return m_frame; }
    [[nodiscard]] int fittedLabelWidth() const { return m_shown.fittedLabelWidth(); }
    void setSpokenName(const QString& name) { m_spoken.setName(name); }
    /// The shared selection; nullopt: none.
    void setSelectedRange(std::optional<TimeRange> range);
    void selectSlice(LaneAddress key, const SliceView& slice);
    /// The same, zoomed so that it can be seen and something of what lies beside it.
    void showSlice(LaneAddress key, const SliceView& slice);
    void clearSlice();
    /// Slices of this name stand out; empty: none.
    void highlight(const QString& name);
    /// What the selected slice is linked to: arrows, and where the keys lead.
    void setLinks(std::vector<LinkedSlice> links);
    /// To a linked slice; unfolds what hides it.
    void followLink(int place);
    /// To the one that begins next before the chosen slice, or after it; peers are none.
    void followInTime(bool forward);
    /// To the slice on the lane below (1) or above (-1) that is nearest in time; without a chosen
    /// one to the first in sight.
    void stepToLane(int by);
    [[nodiscard]] const std::vector<LinkedSlice>& links() const { return m_picks.links; }

    /// What is in sight was loaded, be it for another view.
    [[nodiscard]] bool hasPicture() const { return m_frame != nullptr; }
    [[nodiscard]] TimeRange view() const { return m_shown.view(); }
    [[nodiscard]] const LaneLayout& lanes() const { return m_shown.lanes(); }
    [[nodiscard]] const std::optional<TimelineHit>& selectedSlice() const { return m_picks.chosen; }
    [[nodiscard]] std::optional<TimelineHit> hitAt(QPointF viewportPosition) const;
    [[nodiscard]] const Marks& marks() const { return m_picks.marks; }
    void setMarks(const Marks& marks);

    void run(TimelineCommand command);
    /// Which key does what. `scanCode` 0: not known, the key decides.
    [[nodiscard]] static TimelineCommand commandOf(int key, quint32 scanCode,
                                                   Qt::KeyboardModifiers modifiers);
    /// Does something to the lane, group or rank that the row stands for.
    void act(LaneAction action, const LaneRow* row);
    [[nodiscard]] const LaneLayoutOptions& laneOptions() const { return m_shown.options(); }

Q_SIGNALS:
    /// Lanes of rows of which it is not known how many levels they have.
    void depthsRequested(const std::vector<std::vector<shardscope::LaneAddress>>& rows);
    void pictureRequested(const shardscope::desktop::TimelineQuery& query);
    void viewChanged(shardscope::TimeRange view);
    void rangeSelected(shardscope::TimeRange range);
    void selectionCleared();
    void sliceSelected();
    void sliceCleared();
    void neighbourRequested(bool forward);
    void sameCollectiveRequested(int rankStep);
    void hoverChanged(const QString& text);
    void markRequested(shardscope::Timestamp at);
    /// By a key or a menu.
    void nestedChanged(bool nested);
    /// The user folded, moved, hid or filtered lanes.
    void laneOptionsChanged();
    /// Where the lanes begin, and how wide they are.
    void plotChanged(int left, int width);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    struct Command;
    [[nodiscard]] static const std::vector<Command>& commands();
    void lanesChanged();
    /// Changes which lanes there are, and keeps what one looks at where it is.
    void relayOut(const std::function<bool()>& change);
    void paintNoLane(QPainter& painter) const;
    void describeView();
    void describeSlice();
    void placeFilter();
    void fillRankOrders(QMenu& menu);
    void retint();
    void actOnTarget(LaneAction action);
    /// The row under the pointer; else that of the chosen slice; null: none.
    [[nodiscard]] const LaneRow* target() const;
    void followPointer();
    void changeView(TimeRange view);
    void pan(double fraction);
    void scroll(int pixels);
    void zoom(double factor, Timestamp anchor);
    void showChosen();
    void bringIntoView(const LaneRow& row, const QRectF& box);
    /// Where keys zoom and mark: under the pointer, else in the middle.
    [[nodiscard]] Timestamp anchor() const;
    void zoomToSelection();
    /// From the chosen slice to its neighbour; without one to the first in sight.
    void stepOnLane(bool forward);
    void marksChanged();
    void clearNext();
    void click(QPointF at);
    void hover(QPointF at);
    void requestPicture();
    void touchPicture();
    [[nodiscard]] QPixmap renderPicture() const;

    SpokenPicture m_spoken{*this};
    TimelineViewport m_shown;
    TimelinePointer m_pointer;
    TimelinePicks m_picks;
    TimelineFramePtr m_frame;
    QLineEdit* m_filter;
    QToolButton* m_order;  ///< of ranks
    std::vector<RankFigure> m_rankFigures;
    QString m_orderedBy;               ///< name of a figure; empty: by rank, or as moved
    std::vector<LaneAddress> m_asked;  ///< lanes of the last request
    std::string m_run;                 ///< id of the run that is shown
    bool m_seeksChosen = false;        ///< where it stands in its track is not known yet
    QPixmap m_picture;                 ///< null: to be painted again
};

}  // namespace shardscope::desktop
