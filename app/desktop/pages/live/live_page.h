// Live: follows the run this window started. Repaints at most ten times a second. GUI thread.
#pragma once

#include "app/desktop/pages/live/live_run.h"
#include "app/desktop/pages/live/run_follower.h"
#include "app/desktop/pages/page.h"
#include "storage/model/detail.h"

#include <QTimer>
#include <array>

class QComboBox;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QSlider;

namespace shardscope::desktop {

class ChartPanel;
class PageFrame;
class RankRows;

class LivePage : public Page {
    Q_OBJECT

public:
    [[nodiscard]] static PageEntry entry();
    explicit LivePage(PageContext& context, QWidget* parent = nullptr);
    [[nodiscard]] const PageFrame& frame() const { return *m_frame; }
    /// Shows what is known now, without waiting for the next tick.
    void refresh();

private:
    QWidget* buildContent();
    QLayout* buildStripControls(QWidget* content);
    QLayout* buildCharts(QWidget* content);
    QLayout* buildRanks(QWidget* content);
    QLayout* buildLog(QWidget* content);
    void buildControls(RecorderSession& session);
    void presentLog();
    void presentStrips();
    void refilter();
    void askKill(RecorderSession& session);
    void showHosts();

    LiveRun m_run;
    RunFollower m_follower;
    QTimer m_tick;
    PageFrame* m_frame = nullptr;
    std::array<ChartPanel*, 4> m_charts{};
    RankRows* m_ranks = nullptr;
    QLabel* m_hostsTitle = nullptr;
    QLabel* m_hosts = nullptr;
    ChartPanel* m_whole = nullptr;  ///< the whole run, with what the strips show of it
    QComboBox* m_window = nullptr;
    QSlider* m_smoothing = nullptr;
    QPushButton* m_open = nullptr;
    QPushButton* m_pause = nullptr;
    QComboBox* m_level = nullptr;
    QComboBox* m_rank = nullptr;
    QLineEdit* m_words = nullptr;
    QPlainTextEdit* m_log = nullptr;
    QComboBox* m_capture = nullptr;
    QPushButton* m_stop = nullptr;
    QPushButton* m_kill = nullptr;
    LogFilter m_filter;
    std::size_t m_shownLines = 0;  ///< of all that came
};

}  // namespace shardscope::desktop
