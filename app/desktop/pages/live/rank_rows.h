// One row a rank: state as mark and word, process id. GUI thread.
#pragma once

#include "app/desktop/pages/live/live_run.h"

#include <QWidget>
#include <map>

namespace shardscope::desktop {

class RankRows : public QWidget {
    Q_OBJECT

public:
    explicit RankRows(QWidget* parent = nullptr);
    void setRanks(const std::map<int, LiveRank>& ranks);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    std::map<int, LiveRank> m_ranks;
};

}  // namespace shardscope::desktop
