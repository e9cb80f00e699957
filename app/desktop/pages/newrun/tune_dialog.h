// Tune: over which options, for how long; what it is at; and what was found, to be taken into the
// form. GUI thread.
#pragma once

#include "app/desktop/pages/newrun/tuning_session.h"
#include "engine/run/config/run_config.h"

#include <QDialog>
#include <QString>
#include <vector>

class QCheckBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QSpinBox;

namespace shardscope::desktop {

class DataTable;

class TuneDialog : public QDialog {
    Q_OBJECT

public:
    /// Recordings go into a folder of their own below `folder`.
    TuneDialog(run::RunConfig start, QString program, QString folder, QWidget* parent);
    [[nodiscard]] QStringList over() const;
    void begin();

Q_SIGNALS:
    /// The settings that were found, of this run.
    void taken(const shardscope::run::RunConfig& best);

public Q_SLOTS:
    /// While it tunes, the first time only ends that.
    void reject() override;

private:
    void buildUp();
    QWidget* buildChoices();
    void showState();
    void showProgress(const TuningProgress& progress);
    void showOutcome(const TuningOutcome& outcome);

    const run::RunConfig m_start;
    const QString m_program, m_folder;
    TuningSession m_session;
    TuningOutcome m_outcome;
    bool m_cancelling = false;

    std::vector<QCheckBox*> m_over;  ///< each named by the key of its option
    QSpinBox* m_minutes = nullptr;
    QLabel* m_state = nullptr;
    QProgressBar* m_progress = nullptr;
    DataTable* m_path = nullptr;
    QPushButton* m_begin = nullptr;
    QPushButton* m_take = nullptr;
    QPushButton* m_close = nullptr;
};

}  // namespace shardscope::desktop
