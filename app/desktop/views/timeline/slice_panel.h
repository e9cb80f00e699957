// Details of the slice that was clicked: facts, arrivals of all ranks, what the keys do.
#pragma once

#include "app/desktop/models/slice_details.h"

#include <QWidget>
#include <vector>

class QLabel;

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

class SlicePanel : public QWidget {
    Q_OBJECT

public:
    explicit SlicePanel(QWidget* parent = nullptr);
    void showDetails(const SliceDetails& details);
    void showNothing();

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QLabel* m_title;
    DetailList* m_rows;
    QLabel* m_arrivalsTitle;
    ArrivalBars* m_arrivals;
    QLabel* m_hint;
};

}  // namespace shardscope::desktop
