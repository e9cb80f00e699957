// Live: follows the run this window started. Repaints at most ten times a second. GUI thread.
#pragma once

#include "app/desktop/pages/live/live_run.h"
#include "app/desktop/pages/page.h"
#include "storage/model/detail.h"

#include <QPointer>
#include <QTimer>
#include <array>

class QComboBox;
class QLabel;
class QMessageBox;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QSlider;
class QStackedWidget;
class QTabBar;

namespace shardscope::desktop {

class ChartPanel;
class DataTable;
class PageFrame;

class LivePage : public Page {
    Q_OBJECT

public:
    [[nodiscard]] static PageEntry entry();
    explicit LivePage(PageContext& context, QWidget* parent = nullptr);
    [[nodiscard]] const PageFrame& frame() const { return *m_frame; }
    [[nodiscard]] const LiveRun& run() const { return m_run; }
    /// Shows what is known now, without waiting for the next tick.
    void refresh();

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    QWidget* buildContent();
    QLayout* buildStripControls(QWidget* content);
    QLayout* buildCharts(QWidget* content);
    QLayout* buildRanks(QWidget* content);
    QLayout* buildLog(QWidget* content);
    void buildControls(PageContext& context);
    QWidget* buildSamples(QWidget* content);
    void presentRanks();
    void presentLog();
    void presentSamples();
    void presentStrips();
    void presentProgram(double smoothing);
    void showKind();
    void titleCharts();
    [[nodiscard]] QString emptyStrip() const;
    void offerRanks();
    void refilter();
    void askKill(RecorderSession& session);
    void showHosts();

    LiveRun m_run;
    RunFollower m_follower;
    QTimer m_tick;
    PageFrame* m_frame = nullptr;
    std::array<ChartPanel*, 4> m_charts{};
    QTimer m_silence;  ///< keeps the silence of ranks growing while no message arrives
    QPointer<QMessageBox> m_asksKill;  ///< null: nothing is asked
    DataTable* m_ranks = nullptr;
    QLabel* m_noRanks = nullptr;
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
    QTabBar* m_tabs = nullptr;  ///< log and samples
    QStackedWidget* m_texts = nullptr;
    QWidget* m_logTools = nullptr;
    QPlainTextEdit* m_samples = nullptr;
    QLabel* m_noSamples = nullptr;
    QComboBox* m_capture = nullptr;
    QPushButton* m_stop = nullptr;
    QPushButton* m_kill = nullptr;
    LogFilter m_filter;
    bool m_showsProgram = false;
    std::size_t m_shownLines = 0;  ///< of all that came
    int m_shownSample = -1;        ///< step of the newest
};

}  // namespace shardscope::desktop
