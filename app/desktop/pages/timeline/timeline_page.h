// Timeline: minimap, lanes, details of a slice, table of the selected range. GUI thread.
#pragma once

#include "app/desktop/pages/recording_page.h"
#include "app/desktop/pages/timeline/timeline_query.h"

#include <QString>
#include <optional>
#include <string>
#include <vector>

class QPushButton;
class QVBoxLayout;

namespace shardscope::desktop {

class FindBar;
class Legend;
class MarkList;
class Minimap;
class SlicePanel;
class Splitter;
class TablePanel;
struct TimelineHit;
class TimelineTables;
class TimelineCanvas;

class TimelinePage : public RecordingPage {
    Q_OBJECT

public:
    [[nodiscard]] static PageEntry entry();
    explicit TimelinePage(PageContext& context, QWidget* parent = nullptr);
    void pointAt(const Pointed& pointed) override;
    [[nodiscard]] SlicePanel& panel() const { return *m_panel; }
    [[nodiscard]] TimelineCanvas& canvas() const { return *m_canvas; }
    [[nodiscard]] Minimap& minimap() const { return *m_minimap; }
    [[nodiscard]] TablePanel& tables() const { return *m_tables; }
    [[nodiscard]] FindBar& findBar() const { return *m_find; }

    [[nodiscard]] std::vector<KeyNote> keyNotes() const override;

Q_SIGNALS:
    /// Where matches of a search are.
    void hitsChanged(const std::vector<shardscope::Timestamp>& moments);

protected:
    [[nodiscard]] bool showsSketches() const override { return true; }
    void present() override;
    void presentLegend();
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* buildContent();
    void connectCanvas();
    /// Details and tables take room only where there is some, and where they have something to say.
    void giveRoom();
    /// As the page wants it: a run is still followed after it.
    void moveTo(TimeRange view);
    /// As much as was in sight, up to the newest.
    [[nodiscard]] TimeRange newest(TimeRange seen) const;
    /// To the next mark, failure or slow step, or the one before.
    void jump(bool forward);
    void centre(Timestamp at);
    void foldTables(bool folded);
    void wantTables(bool wanted);
    [[nodiscard]] int tableHeight() const;
    void presentSlice();
    void showSliceMenu(const TimelineHit& hit, QPoint at);
    void askForHeadline(bool tooFar);
    void askForPicture(const TimelineQuery& query);
    void askForDepths(const std::vector<std::vector<LaneAddress>>& rows);
    void askForDensity();
    void connectTables();
    void askForNeighbour(bool forward);
    void askForLinks(const LinkQuery& query);
    void askForLinks(const TimelineHit& hit);
    void askForCollective(const TimelineHit& hit);
    [[nodiscard]] bool isCollective(const TimelineHit& hit) const;
    void showLinks(const LinkQuery& query, const std::vector<LinkedSlice>& links);
    void goToSameCollective(int rankStep);
    [[nodiscard]] static TimeRange firstView(const OpenRecording& recording);

    Topic m_picture, m_depths, m_density, m_neighbour, m_links, m_collective, m_headline;
    Minimap* m_minimap = nullptr;
    TimelineCanvas* m_canvas = nullptr;
    Splitter *m_below = nullptr, *m_beside = nullptr;
    Legend* m_legend = nullptr;
    SlicePanel* m_panel = nullptr;
    FindBar* m_find = nullptr;
    TablePanel* m_tables = nullptr;
    TimelineTables* m_rows = nullptr;
    MarkList* m_marks = nullptr;
    QPushButton* m_follow = nullptr;  ///< of a run that goes on
    bool m_moves = false;             ///< the page changes the view, not the user
    struct Jump {
        Timestamp time;
        TimeRange view;  ///< after it; another one: the user has moved since
    };
    std::optional<Jump> m_jumped;
    QVBoxLayout* m_pictures = nullptr;
    std::optional<bool> m_tablesWanted;      ///< by the user; else where a range is selected
    const OpenRecording* m_shown = nullptr;  ///< what the canvas was set up for
    std::string m_shownRun;                  ///< its id, the same of one that has grown
};

// Whether what one thread or stream does is one nested track or has its kinds apart: kept in the
// settings file. GUI thread.

/// `file`: an ini file; empty, or without it: nested.
[[nodiscard]] bool readNested(const QString& file);
/// Keeps nothing where `file` is empty.
void writeNested(const QString& file, bool nested);

}  // namespace shardscope::desktop
