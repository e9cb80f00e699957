// What stands in the tables below the lanes, and where their rows lead: adds up the selected range,
// searches. Asks the loader, fills the panel and the find bar. GUI thread.
#pragma once

#include "app/desktop/loading/topic.h"
#include "app/desktop/pages/timeline/tables/search.h"
#include "app/desktop/pages/timeline/timeline_frame.h"

#include <QObject>
#include <memory>
#include <optional>

class QMenu;

namespace shardscope::desktop {

class FindBar;
class TablePanel;

class TimelineTables : public QObject {
    Q_OBJECT

public:
    TimelineTables(RecordingLoader& loader, TablePanel& panel, FindBar& bar, QObject* parent);
    /// Of another recording, or of the same that has grown.
    void setRecording(const RecordingPtr& recording);
    /// What is selected, and so what is added up and searched.
    void setSelection(const Selection& selection);
    /// Too many events would have to come from another host.
    void setTooFar(bool tooFar) { m_tooFar = tooFar; }
    /// Where the search begins.
    void setView(TimeRange view) { m_view = view; }
    /// The table that is shown is wanted again, if it is seen.
    void ask();
    /// Selects the row of a slice that was clicked.
    void showSlice(const LaneFacts& lane, const SliceView& slice);
    void openFind();
    void find(const QString& text);
    /// To the next match, or the one before.
    void goToHit(int step);
    /// Shows only rows with this name, of the lane's kind.
    void filterTo(const LaneFacts& lane, const QString& name);

Q_SIGNALS:
    /// Slices of this name are to stand out; empty: none.
    void nameHighlighted(const QString& name);
    void sliceRequested(shardscope::LaneAddress key, const shardscope::desktop::SliceView& slice);
    /// The same of a match: so large that it can be seen.
    void hitRequested(shardscope::LaneAddress key, const shardscope::desktop::SliceView& slice);
    /// Where matches are, for the minimap.
    void hitsChanged(const std::vector<shardscope::Timestamp>& moments);
    void findClosed();
    /// The tables have something that was asked for.
    void tablesWanted();

private:
    void askForRange();
    void showRange();
    bool goesBack();
    void startSearch();
    void searchOn();
    void showFound();
    void showHit();
    [[nodiscard]] int firstHit(int step) const;
    [[nodiscard]] int placeIn(const SearchResult& result) const;
    void pick(int row);
    void activate(int row);
    void addToMenu(QMenu* menu, int row);
    void goTo(const SearchHit& hit);
    void selectWanted();

    TablePanel& m_panel;
    FindBar& m_bar;
    Topic m_rangeTopic, m_searchTopic, m_hitTopic;
    RecordingPtr m_recording;
    Selection m_selection;
    bool m_tooFar = false;
    TimeRange m_view{};
    RangeTablePtr m_range;
    struct Shown {
        RangeKind before, kind;
    };
    std::optional<Shown> m_shown;  ///< the tab is that of a slice that was clicked
    QString m_wanted;              ///< name of the row to be selected
    std::shared_ptr<Search> m_search;
    SearchResultPtr m_found;
    int m_hit = -1;
};

}  // namespace shardscope::desktop
