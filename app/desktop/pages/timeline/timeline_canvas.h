// The timeline itself: ruler, lanes of all ranks, hover, selection, marks. Draws what the loader
// sent last, scaled, until the next picture comes. GUI thread.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/pages/timeline/lane_layout.h"
#include "app/desktop/pages/timeline/timeline_frame.h"
#include "app/desktop/pages/timeline/timeline_keys.h"

#include <QAbstractScrollArea>
#include <QPixmap>
#include <optional>
#include <vector>

namespace shardscope::desktop {

class TimelineCanvas : public QAbstractScrollArea {
    Q_OBJECT

public:
    explicit TimelineCanvas(QWidget* parent = nullptr);

    void setRecording(const RecordingPtr& recording);
    void setRanks(const std::vector<RankId>& ranks);
    void setFrame(const TimelineFramePtr& frame);
    void setView(TimeRange view);
    /// The shared selection; nullopt: none.
    void setSelectedRange(std::optional<TimeRange> range);
    void selectSlice(LaneAddress key, const SliceView& slice);
    void clearSlice();
    /// What the selected slice is linked to: arrows, and where the keys lead.
    void setLinks(std::vector<LinkedSlice> links);
    /// To the first linked slice; unfolds what hides it.
    void followLink();
    [[nodiscard]] const std::vector<LinkedSlice>& links() const { return m_links; }

    [[nodiscard]] TimeRange view() const { return m_scale.range; }
    [[nodiscard]] const LaneLayout& lanes() const { return m_layout; }
    struct Hit {
        LaneAddress key;
        LaneRole role = LaneRole::kHost;
        SliceView slice;
    };
    [[nodiscard]] const std::optional<Hit>& selectedSlice() const { return m_selected; }
    [[nodiscard]] std::optional<Hit> hitAt(QPointF viewportPosition) const;
    [[nodiscard]] const std::vector<Timestamp>& marks() const { return m_marks; }

    void run(TimelineCommand command);

Q_SIGNALS:
    void pictureRequested(const shardscope::desktop::TimelineQuery& query);
    void viewChanged(shardscope::TimeRange view);
    void rangeSelected(shardscope::TimeRange range);
    void selectionCleared();
    void sliceSelected();
    void sliceCleared();
    void neighbourRequested(bool forward);
    void sameCollectiveRequested(int rankStep);
    void hoverChanged(const QString& text);
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
    bool viewportEvent(QEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    [[nodiscard]] QRectF lanesArea() const;
    [[nodiscard]] QRectF rowArea(const LaneRow& row) const;
    [[nodiscard]] Timestamp timeAt(double x) const;
    void layOut();
    void fitLabels();
    void toggle(const LaneRow& row);
    [[nodiscard]] QString counterText(QPointF at) const;
    void changeView(TimeRange view);
    void requestPicture();
    void zoom(double factor, Timestamp anchor);
    void endDrag(QPointF at);
    void click(QPointF at);
    void hover(QPointF at);
    void touchPicture();
    [[nodiscard]] QPixmap renderPicture() const;
    /// Every how many steps the ruler has room for a name.
    [[nodiscard]] int stepStride() const;
    void paintRuler(QPainter& painter) const;
    void paintLabels(QPainter& painter) const;
    void paintHeader(QPainter& painter, const LaneRow& row) const;
    void paintLaneName(QPainter& painter, const LaneRow& row) const;
    void paintLinks(QPainter& painter) const;
    void paintLeftOut(QPainter& painter, const LaneRow& row) const;
    void paintOverlay(QPainter& painter) const;
    void paintHover(QPainter& painter) const;

    RecordingPtr m_recording;
    TimelineFramePtr m_frame;
    LaneLayoutOptions m_options;
    LaneLayout m_layout;
    TimeScale m_scale;
    std::optional<TimeRange> m_selectedRange;
    std::optional<Hit> m_selected;
    std::optional<Hit> m_hovered;
    std::vector<LinkedSlice> m_links;  ///< of m_selected
    std::vector<Timestamp> m_marks;
    int m_labelWidth;
    QPixmap m_picture;
    std::optional<QPointF> m_cursor;
    struct Drag {
        QPointF from;
        TimeRange view;
        bool pans = false;
        bool moved = false;
    };
    std::optional<Drag> m_drag;
};

}  // namespace shardscope::desktop
