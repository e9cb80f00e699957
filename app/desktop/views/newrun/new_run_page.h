// New run: the form of a run on the left, on the right what it will need, live as one types,
// and the same as a command line. GUI thread.
#pragma once

#include "app/desktop/models/run_form.h"

#include <QWidget>
#include <vector>

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QGridLayout;
class QLabel;
class QLineEdit;
class QPushButton;
class QSpinBox;

namespace shardscope::desktop {

class Banner;
class DetailList;
class Legend;
class StackedBars;

class NewRunPage : public QWidget {
    Q_OBJECT

public:
    /// `outputFolder`: where recordings go unless one says otherwise.
    explicit NewRunPage(const QString& outputFolder, QWidget* parent = nullptr);
    [[nodiscard]] control::RunConfig config() const;
    void setConfig(const control::RunConfig& config);
    /// A run is going: another cannot be started.
    void setBusy(bool busy);
    [[nodiscard]] const RunPrediction& prediction() const { return m_prediction; }

Q_SIGNALS:
    void startRequested(const shardscope::control::RunConfig& config);

private:
    QWidget* buildForm(QWidget* parent);
    QWidget* buildPrediction(QWidget* parent);
    void addModelFields();
    void addStrategyFields();
    void addDeviceFields();
    void addDataFields();
    void addStepFields();
    void addOutputFields();
    void addSection(const QString& title);
    QLabel* addField(int column, const QString& label, QWidget* field, const QString& note = {});
    QSpinBox* number(int low, int high, const QString& suffix, const QString& name);
    QDoubleSpinBox* decimal(double low, double high, int decimals, const QString& name);
    QWidget* dataField();
    void choosePreset(int index);
    void chooseData(bool folder);
    void refresh();
    void enableFields();
    QComboBox* choice(const QString& name);
    void saveRunFile();

    QString m_outputFolder;
    QString m_moment;
    MachineFacts m_machine;
    RunPrediction m_prediction;
    bool m_busy = false;

    QGridLayout* m_grid = nullptr;
    int m_row = 0;
    QLabel *m_headline = nullptr, *m_parameters = nullptr, *m_tokens = nullptr,
           *m_dataNote = nullptr;
    QLabel *m_command = nullptr, *m_reason = nullptr, *m_outputNote = nullptr;
    QComboBox *m_preset = nullptr, *m_strategy = nullptr, *m_precision = nullptr,
              *m_capture = nullptr, *m_device = nullptr, *m_reduce = nullptr,
              *m_deviceCapture = nullptr;
    QCheckBox* m_share = nullptr;
    QLabel *m_reduceNote = nullptr, *m_deviceCaptureNote = nullptr;
    QSpinBox *m_vocabulary = nullptr, *m_context = nullptr, *m_layers = nullptr, *m_heads = nullptr,
             *m_hidden = nullptr;
    QSpinBox *m_ranks = nullptr, *m_threads = nullptr, *m_prefetch = nullptr, *m_batch = nullptr,
             *m_accumulate = nullptr, *m_recompute = nullptr, *m_shardRanks = nullptr;
    QDoubleSpinBox* m_bucket = nullptr;
    QLabel *m_strategyNote = nullptr, *m_prefetchNote = nullptr, *m_bucketNote = nullptr,
           *m_shardRanksNote = nullptr;
    control::RunConfig m_base;  ///< the configuration that the fields were filled from
    QSpinBox *m_steps = nullptr, *m_warmup = nullptr, *m_evaluate = nullptr, *m_seed = nullptr;
    QDoubleSpinBox *m_learningRate = nullptr, *m_weightDecay = nullptr, *m_clip = nullptr,
                   *m_heldBack = nullptr;
    QLineEdit *m_data = nullptr, *m_output = nullptr;
    Banner* m_warning = nullptr;
    StackedBars* m_memory = nullptr;
    Legend* m_legend = nullptr;
    DetailList* m_traffic = nullptr;
    QPushButton* m_start = nullptr;
    bool m_outputEdited = false;
    bool m_filling = true;  ///< by us, until the first config stands
};

}  // namespace shardscope::desktop
