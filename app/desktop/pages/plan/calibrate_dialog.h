// Calibrate this machine: what is kept of it and its age, a run of `shardscope calibrate` with its
// progress, and what was measured. GUI thread.
#pragma once

#include "app/desktop/models/machine_facts.h"
#include "app/desktop/session/program_session.h"
#include "profiler/planning/calibration.h"

#include <QDialog>
#include <QElapsedTimer>
#include <QString>
#include <QStringList>
#include <QTimer>
#include <optional>

class QCheckBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QSpinBox;

namespace shardscope::desktop {

class DataTable;

/// The calibration of this machine's CPU; nothing where there is none that can be read. Reads a
/// small file.
[[nodiscard]] std::optional<planning::Calibration> calibrationOf(const MachineFacts& machine);

class CalibrateDialog : public QDialog {
    Q_OBJECT

public:
    CalibrateDialog(const MachineFacts& machine, int ranks, QString program, QWidget* parent);
    void begin();
    [[nodiscard]] bool isGoing() const { return m_program.isGoing(); }

Q_SIGNALS:
    /// It is kept: plans may go by it.
    void calibrated();

public Q_SLOTS:
    /// While it measures, the first time only ends that.
    void reject() override;

private:
    void buildUp(int ranks);
    QWidget* buildChoices(int ranks);
    void showState();
    void showProgress();
    void hear(const QString& line);
    void conclude(int code, const QByteArray& printed);
    void showCalibration(const planning::Calibration& calibration, const QString& said);

    const QString m_path;  ///< of `shardscope`; empty: there is none
    ProgramSession m_program;
    planning::CalibrationProgress m_at;
    QStringList m_words;  ///< that it said besides
    QElapsedTimer m_since;
    QTimer m_second;

    QSpinBox* m_ranks = nullptr;
    QCheckBox* m_quick = nullptr;
    QLabel *m_state = nullptr, *m_collectivesTitle = nullptr;
    QProgressBar* m_progress = nullptr;
    QWidget* m_found = nullptr;
    DataTable *m_rates = nullptr, *m_collectives = nullptr;
    QPushButton *m_begin = nullptr, *m_close = nullptr;
};

}  // namespace shardscope::desktop
