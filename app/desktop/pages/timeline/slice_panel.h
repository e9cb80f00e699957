// Details of the slice that was clicked: facts, arrivals of all ranks, what the keys do.
#pragma once

#include "app/desktop/pages/timeline/device_slice.h"
#include "app/desktop/pages/timeline/slice_details.h"
#include "app/desktop/widgets/panel.h"

#include <QWidget>
#include <vector>

class QLabel;
class QPushButton;

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

}  // namespace shardscope::desktop
