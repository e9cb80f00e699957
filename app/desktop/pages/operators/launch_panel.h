// How much work lay in queue over time, and matrix products against the roofs. GUI thread.
#pragma once

#include "app/desktop/pages/operators/operators_query.h"

#include <QWidget>

class QLabel;

namespace shardscope::desktop {

class ChartPanel;

class LaunchPanel : public QWidget {
    Q_OBJECT

public:
    explicit LaunchPanel(QWidget* parent = nullptr);
    void setFrame(const WorkFrame& frame);
    [[nodiscard]] ChartPanel& queue() const { return *m_queue; }
    [[nodiscard]] ChartPanel& roofline() const { return *m_roofline; }
    [[nodiscard]] QString roofNote() const;

Q_SIGNALS:
    void rangeSelected(shardscope::TimeRange range);

private:
    ChartPanel *m_queue, *m_roofline;
    QLabel *m_queueNote, *m_roofNote;
};

}  // namespace shardscope::desktop
