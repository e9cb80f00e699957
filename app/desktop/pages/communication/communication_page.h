// Communication: how much of it steps are blocked in, which collective sticks out, how fast the
// link was, who waits for whom. GUI thread.
#pragma once

#include "app/desktop/loading/topic.h"
#include "app/desktop/pages/communication/collective_table.h"
#include "app/desktop/pages/communication/communication_query.h"
#include "app/desktop/pages/communication/layer_columns.h"
#include "app/desktop/pages/recording_page.h"

#include <optional>
#include <vector>

class QComboBox;
class QLabel;
class QLineEdit;
class QMenu;
class QPushButton;
class QVBoxLayout;

namespace shardscope::desktop {

struct BandwidthChart;
class ChartPanel;
class DataTable;
class ColumnChart;
class HeatMap;
class Legend;

class CommunicationPage : public RecordingPage {
    Q_OBJECT

public:
    [[nodiscard]] static PageEntry entry();
    explicit CommunicationPage(PageContext& context, QWidget* parent = nullptr);

    [[nodiscard]] std::vector<KeyNote> keyNotes() const override;
    /// What is shown; null until it was read.
    [[nodiscard]] const CommunicationFramePtr& shown() const { return m_frame; }
    /// The kind and layer that the table is of; nothing: all.
    [[nodiscard]] std::optional<analysis::ExposureKind> chosenKind() const { return m_kind; }

public Q_SLOTS:
    /// Narrows the table to a kind and layer; again: takes that back.
    void chooseColumn(int group, int column);
    void chooseAll();

protected:
    void present() override;

private:
    QWidget* buildContent();
    QWidget* buildLayers(QWidget* parent);
    QWidget* buildSide(QWidget* parent);
    QWidget* buildSkew(QWidget* parent);
    QWidget* buildPictures(QWidget* parent);
    QWidget* buildTable(QWidget* parent);
    void connectTable();
    bool presentNothing();
    void forgetFrame();
    void showFrame(const CommunicationFramePtr& frame);
    void presentLayers();
    void presentSide();
    void askForChart();
    void showChart(const BandwidthChart& chart);
    void presentWaiting();
    void askForTable();
    void showTable(CollectiveTable table);
    void selectCell(int row, int column);
    void showInTimeline(int row);

    Topic m_topic, m_chartTopic, m_tableTopic;
    PartPtr m_asked;  ///< that m_topic was asked about
    CommunicationFramePtr m_frame;
    LayerColumns m_layers;
    std::optional<analysis::ExposureKind> m_kind;
    bool m_seeksTable = false;        ///< it is scrolled to when it comes
    std::vector<std::size_t> m_rows;  ///< places of transfers, by row of the table

    ColumnChart* m_columns = nullptr;
    Legend* m_legend = nullptr;
    QLabel* m_layerNote = nullptr;
    DataTable *m_reasons = nullptr, *m_skew = nullptr, *m_table = nullptr;
    QLabel *m_reasonWords = nullptr, *m_skewWords = nullptr;
    QVBoxLayout *m_left = nullptr, *m_right = nullptr;  ///< of the pictures
    QWidget* m_skewBlock = nullptr;                     ///< in one of them
    QComboBox* m_bandwidth = nullptr;
    ChartPanel* m_chart = nullptr;
    HeatMap* m_heat = nullptr;
    QLabel *m_heatWords = nullptr, *m_caption = nullptr, *m_unknown = nullptr;
    QPushButton *m_all = nullptr, *m_show = nullptr;
    QLineEdit* m_filter = nullptr;
};

}  // namespace shardscope::desktop
