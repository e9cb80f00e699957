// Timeline: minimap, lanes, details of a slice, table of the selected range. GUI thread.
#pragma once

#include "app/desktop/models/timeline_frame.h"
#include "app/desktop/views/recording_page.h"

namespace shardscope::desktop {

class DataTable;
class Minimap;
class SlicePanel;
class TimelineCanvas;

class TimelinePage : public RecordingPage {
    Q_OBJECT

public:
    explicit TimelinePage(SelectionModel& selection, QWidget* parent = nullptr);
    void showFrame(const TimelineFramePtr& frame);
    void showTable(const RangeTablePtr& table);
    void showNeighbour(LaneAddress key, const SliceView& slice);
    void showLinks(LaneAddress from, std::uint64_t correlation,
                   const std::vector<LinkedSlice>& links);
    [[nodiscard]] SlicePanel& panel() const { return *m_panel; }
    [[nodiscard]] TimelineCanvas& canvas() const { return *m_canvas; }

Q_SIGNALS:
    void pictureRequested(const shardscope::desktop::TimelineQuery& query);
    void tableRequested(shardscope::TimeRange range, const std::vector<shardscope::RankId>& ranks);
    void neighbourRequested(const shardscope::LaneAddress& key,
                            const shardscope::desktop::SliceView& from, bool forward);
    /// What shares the correlation of this slice?
    void linksRequested(const shardscope::LaneAddress& key,
                        const shardscope::desktop::SliceView& from);

protected:
    void present() override;
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QWidget* buildContent();
    void connectCanvas();
    void presentSlice();
    void goToSameCollective(int rankStep);
    [[nodiscard]] static TimeRange firstView(const OpenRecording& recording);

    Minimap* m_minimap = nullptr;
    TimelineCanvas* m_canvas = nullptr;
    SlicePanel* m_panel = nullptr;
    DataTable* m_table = nullptr;
    const OpenRecording* m_shown = nullptr;  ///< what the canvas was set up for
};

}  // namespace shardscope::desktop
