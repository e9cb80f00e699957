// Details of the slice that was clicked: facts, arrivals of all ranks, what the keys do.
#pragma once

#include "app/desktop/pages/timeline/canvas/timeline_viewport.h"
#include "app/desktop/pages/timeline/details/device_slice.h"
#include "app/desktop/pages/timeline/details/slice_details.h"
#include "app/desktop/widgets/panel.h"

#include <QString>
#include <QWidget>
#include <functional>
#include <vector>

class QLabel;
class QPushButton;
class QMenu;

namespace shardscope::desktop {

class DetailList;

/// One bar a rank from its arrival to the end of the collective; waiting is hatched.
class ArrivalBars : public QWidget {
    Q_OBJECT

public:
    explicit ArrivalBars(QWidget* parent = nullptr);
    void setBars(std::vector<ArrivalBar> bars, Meaning meaning);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    std::vector<ArrivalBar> m_bars;
    Meaning m_meaning = Meaning::kOtherCollective;
};

class SlicePanel : public Panel {
    Q_OBJECT

public:
    explicit SlicePanel(QWidget* parent = nullptr);
    void showDetails(const SliceDetails& details);
    void showNothing();
    /// What the slice that is shown is linked to: facts below its own, and a way there.
    void showLinks(const LinkTexts& texts);
    /// Where else one can go from it, a button each.
    void showWays(const std::vector<QString>& texts);
    [[nodiscard]] const DetailList& rows() const { return *m_rows; }
    [[nodiscard]] const DetailList& arguments() const { return *m_arguments; }

Q_SIGNALS:
    void linkFollowed();
    /// Of showWays(), by place.
    void wayChosen(int place);

private:
    QLabel* m_title;
    QPushButton* m_link;
    QWidget* m_ways;
    QLabel* m_code;
    DetailList* m_rows;
    QLabel* m_argumentsTitle;
    DetailList* m_arguments;
    QLabel* m_arrivalsTitle;
    ArrivalBars* m_arrivals;
    QLabel* m_hint;
};

// What a right click on a slice offers, and how a slice reads on the clipboard.

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
