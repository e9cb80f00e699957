// Plan: what a model needs before it is trained. Settings on the left; on the right, live, what
// to take and why, memory and time of each strategy, how it scales, on what it fits, how else it
// can be divided. GUI thread; plans are made on a separate thread.
#pragma once

#include "app/desktop/loading/topic.h"
#include "app/desktop/pages/page.h"
#include "app/desktop/pages/plan/plan_view.h"

#include <QThreadPool>
#include <optional>
#include <string_view>
#include <vector>

class QBoxLayout;
class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSlider;
class QSpinBox;

namespace shardscope::desktop {

class Banner;
class BoundField;
class CalibrateDialog;
class ChartPanel;
class DataTable;
class FoldSection;
class Legend;
class StackedBars;
class WhatIfPanel;

class PlanPage : public Page {
    Q_OBJECT

public:
    [[nodiscard]] static PageEntry entry();
    explicit PlanPage(PageContext& context, QWidget* parent = nullptr);
    ~PlanPage() override;

    [[nodiscard]] std::vector<KeyNote> keyNotes() const override;
    [[nodiscard]] PlanSettings settings() const;
    void setConfig(const run::RunConfig& config);
    void chooseDevice(const QString& device);
    /// A published model by its name; "parameters": by their number; empty: by its shape.
    void chooseModel(const QString& name);
    [[nodiscard]] QLineEdit* parameters() const { return m_parameters; }
    /// The last plan that was made.
    [[nodiscard]] const PlanView& view() const { return m_view; }
    [[nodiscard]] bool isReading() const override { return m_making || m_learning; }
    /// Null: there is no field of this key.
    [[nodiscard]] BoundField* field(std::string_view key) const;
    [[nodiscard]] QSlider* ranksSlider() const { return m_ranks; }
    [[nodiscard]] WhatIfPanel* whatIf() const { return m_whatIf; }
    /// `program`: the `shardscope` that measures; empty: there is none, which it says.
    CalibrateDialog* openCalibration(const QString& program);

protected:
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    // plan_content.cpp
    QWidget* buildSettings(QWidget* parent);
    void addFields(FoldSection* section, const std::vector<const char*>& keys);
    QWidget* buildDevices(FoldSection* section);
    QWidget* buildRanks(FoldSection* section);
    QWidget* buildModels(FoldSection* section);
    void addState(FoldSection* section);
    QWidget* buildPlan(QWidget* parent);
    QWidget* buildMore(QWidget* parent);
    QWidget* buildCharts(QWidget* parent);
    QWidget* buildParallelisms(QWidget* parent);
    // plan_page.cpp
    [[nodiscard]] std::optional<StateModel> stateModel() const;
    void choosePreset();
    void takeModel();
    void takeDevice();
    void learn();
    void edit();
    void refresh();
    void make();
    void take(PlanView view);
    void showView();
    void showTable(DataTable& table, QLabel& title, const questions::Table& shown,
                   const std::vector<const char*>& keys = {});

    RecordingLoader& m_loader;
    Topic m_topic;
    QThreadPool m_pool;  ///< of one thread
    run::RunConfig m_base;
    MachineFacts m_machine;
    Learnt m_recorded;
    RecordingPtr m_learnt;  ///< that m_recorded is of, or that nothing can be learnt from
    PlanView m_view;
    bool m_edited = false;  ///< settings are the user's: a recording does not replace them
    bool m_filling = true, m_making = false, m_stale = false, m_learning = false;

    std::vector<BoundField*> m_fields;
    QComboBox *m_model = nullptr, *m_device = nullptr;
    QLineEdit *m_parameters = nullptr, *m_stateBytes = nullptr;
    QWidget *m_parametersBlock = nullptr, *m_stateBlock = nullptr;
    QSpinBox* m_perHost = nullptr;
    QSlider* m_ranks = nullptr;
    QCheckBox* m_ofRecommended = nullptr;
    QLabel *m_headline = nullptr, *m_sources = nullptr, *m_reasons = nullptr;
    QLabel *m_replay = nullptr, *m_unknown = nullptr, *m_ends = nullptr, *m_memoryTitle = nullptr;
    QLabel* m_aboveLinear = nullptr;
    Banner* m_problem = nullptr;
    QWidget *m_plan = nullptr, *m_more = nullptr;  ///< of the settings; what-if is of a recording
    WhatIfPanel* m_whatIf = nullptr;
    StackedBars* m_memory = nullptr;
    Legend *m_legend = nullptr, *m_chartLegend = nullptr, *m_ofRanksLegend = nullptr;
    struct Block {
        QLabel* title = nullptr;
        DataTable* table = nullptr;
    };
    Block addBlock(QWidget* parent, const QString& name);
    Block m_strategies, m_times, m_limits, m_weak, m_strong, m_fitsOn, m_divisions;
    QWidget* m_charts = nullptr;
    QBoxLayout* m_chartRow = nullptr;
    ChartPanel *m_efficiency = nullptr, *m_throughput = nullptr, *m_ofRanks = nullptr;
    QPushButton* m_start = nullptr;
};

}  // namespace shardscope::desktop
