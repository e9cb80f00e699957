// Overview: where the time of a step goes, in one sentence, six cards, bars and a table.
// GUI thread.
#pragma once

#include "app/desktop/models/answer_table.h"
#include "app/desktop/pages/overview/overview_model.h"
#include "app/desktop/pages/recording_page.h"

#include <vector>

class QComboBox;
class QGridLayout;
class QLabel;
class QVBoxLayout;

namespace shardscope::desktop {

class Card;
class DataTable;
class DetailList;
class FindingList;
class HeatMap;
class Legend;
class StackedBars;
class ColumnChart;

class OverviewPage : public RecordingPage {
    Q_OBJECT

public:
    [[nodiscard]] static PageEntry entry();
    explicit OverviewPage(PageContext& context, QWidget* parent = nullptr);

protected:
    void present() override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    QWidget* buildContent();
    QWidget* buildEvidence(QWidget* parent);
    QWidget* buildSteps(QWidget* parent);
    void addStepByStep(QVBoxLayout& layout);
    QWidget* buildDevices(QWidget* parent);
    QWidget* buildParts(QWidget* parent);
    QWidget* buildSide(QWidget* parent);
    void presentDevices();
    void presentLedger();
    void offerRanks();
    void offerParts();
    void presentTrace();
    void showTrace(const std::vector<AnswerTable>& tables);
    void placeCards();
    void presentCards(const std::vector<CardContent>& cards);
    void presentSteps();
    [[nodiscard]] const StepSums& stepsToShow(int choice) const;
    void selectStep(int column);
    void selectCell(int row, int column);

    std::vector<Card*> m_cards;
    [[nodiscard]] const LedgerView& ledger() const;

    QGridLayout* m_cardGrid = nullptr;
    int m_cardCount = 6, m_cardColumns = 0;
    QWidget *m_stepBlock = nullptr, *m_partsBlock = nullptr;  ///< only where steps have parts
    StackedBars* m_bars = nullptr;
    ColumnChart* m_steps = nullptr;
    Legend* m_legend = nullptr;
    HeatMap* m_heat = nullptr;  ///< instead of bars, of many ranks
    Topic m_heatMap;
    LedgerHeat m_heatAxes;  ///< of the map that is shown
    QLabel *m_barsTitle = nullptr, *m_stepRow = nullptr;
    QComboBox* m_order = nullptr;     ///< of the heat map's ranks
    QComboBox* m_choice = nullptr;    ///< the rank of the columns, or the part of the heat map
    QWidget* m_traceBlock = nullptr;  ///< only of imported traces
    Topic m_trace;
    QString m_settingsFile;  ///< keeps the targets
    PartPtr m_tracePart;     ///< that the trace's tables are of
    DataTable* m_parts = nullptr;
    QWidget* m_deviceBlock = nullptr;  ///< only for runs on GPUs
    DataTable *m_devices = nullptr, *m_deviceTimes = nullptr;
    QLabel* m_deviceNote = nullptr;
    FindingList* m_findings = nullptr;
    DetailList *m_facts = nullptr, *m_import = nullptr;
    QLabel* m_importTitle = nullptr;
    PartPtr m_shown;                      ///< that the page is of
    Targets m_targets;                    ///< that its cards were held against
    std::vector<StepSpan> m_columnSteps;  ///< of each column of m_steps
};

}  // namespace shardscope::desktop
