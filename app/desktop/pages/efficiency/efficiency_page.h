// Efficiency: how much of the peak a run reached, by phase and layer, where its time went, and how
// it scales. GUI thread.
#pragma once

#include "app/desktop/loading/topic.h"
#include "app/desktop/pages/efficiency/efficiency_model.h"
#include "app/desktop/pages/recording_page.h"

#include <optional>
#include <vector>

class QComboBox;
class QLabel;
class QPushButton;

namespace shardscope::desktop {

class ChartPanel;
class DataTable;
class ColumnChart;
class Legend;
class ScalingPanel;
class StackedBars;

class EfficiencyPage : public RecordingPage {
    Q_OBJECT

public:
    [[nodiscard]] static PageEntry entry();
    explicit EfficiencyPage(PageContext& context, QWidget* parent = nullptr);
    [[nodiscard]] std::vector<KeyNote> keyNotes() const override;
    [[nodiscard]] bool isReading() const override;
    /// What is shown; null until it was read.
    [[nodiscard]] const EfficiencyFramePtr& shown() const { return m_frame; }
    [[nodiscard]] const QString& variant() const { return m_variant; }
    [[nodiscard]] ScalingPanel& scaling() const { return *m_scaling; }
    void chooseVariant(const QString& word);
    /// Narrows the table of ranks to a phase and layer; again: takes that back.
    void choosePart(int group, int column);

protected:
    void present() override;
    void showEvent(QShowEvent* event) override;

private:
    // efficiency_content.cpp
    QWidget* buildContent();
    QWidget* buildMfu(QWidget* parent);
    QWidget* buildParts(QWidget* parent);
    QWidget* buildGoodput(QWidget* parent);
    QWidget* buildTables(QWidget* parent);
    void buildControls();
    // efficiency_page.cpp
    void showFrame(const EfficiencyFramePtr& frame);
    void presentMfu();
    void presentParts();
    void presentRanks();
    void presentGoodput();
    void presentTable(const char* key, QWidget& block, DataTable& table);
    void selectStretch(double low, double high);
    void selectRank(std::optional<RankId> rank);

    RecordingLoader& m_loader;
    QString m_settingsFile;
    Targets m_targets;
    Topic m_topic;
    PartPtr m_asked;
    EfficiencyFramePtr m_frame;
    QString m_variant = QStringLiteral("palm");
    std::optional<PartColumns::Part> m_part;  ///< that the table of ranks is of; none: all
    PartColumns m_columns;
    std::vector<RankId> m_partRanks;

    QComboBox* m_choice = nullptr;
    QWidget *m_mfuBlock = nullptr, *m_partBlock = nullptr, *m_goodputBlock = nullptr,
            *m_peakBlock = nullptr, *m_energyBlock = nullptr;
    ChartPanel* m_curve = nullptr;
    DataTable *m_variants = nullptr, *m_ranks = nullptr, *m_items = nullptr, *m_peaks = nullptr,
              *m_energy = nullptr;
    ColumnChart* m_speeds = nullptr;
    Legend *m_speedLegend = nullptr, *m_goodputLegend = nullptr;
    QLabel *m_partNote = nullptr, *m_rankNote = nullptr, *m_unknown = nullptr;
    QPushButton* m_all = nullptr;
    StackedBars* m_goodput = nullptr;
    ScalingPanel* m_scaling = nullptr;
};

}  // namespace shardscope::desktop
