// Tune: over which options, for how long; what it is at; and what was found, to be taken into the
// form. GUI thread.
#pragma once

#include "app/desktop/session/program_session.h"
#include "engine/run/config/run_config.h"
#include "profiler/questions/answer/answer.h"

#include <QByteArray>
#include <QDialog>
#include <QObject>
#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

class QCheckBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QSpinBox;

namespace shardscope::desktop {

// Drives `shardscope tune`, whose progress and outcome are shown. GUI thread.

struct TuningRequest {
    run::RunConfig start;
    QStringList over;  ///< keys of options
    int minutes = 5;   ///< after which no run is begun
    QString folder;    ///< of recordings; made where it is not there
};

/// What it is at: "--strategy zero2 --batch 8", the second of at most 6 runs.
struct TuningProgress {
    int run = 0, most = 0;  ///< 0: not known yet
    QString settings;
};
/// Nothing: the line says something else.
[[nodiscard]] std::optional<TuningProgress> parseTuningProgress(const QString& line);

struct TuningOutcome {
    QStringList sentences;  ///< the answer first
    questions::Table path;
    std::optional<run::RunConfig> best;
    QString folder;
    bool interrupted = false;  ///< it ended before its search did
};
/// What tune has printed; nothing where that is not such a document.
[[nodiscard]] std::optional<TuningOutcome> parseTuning(const QByteArray& json);

class TuningSession : public QObject {
    Q_OBJECT

public:
    explicit TuningSession(QObject* parent = nullptr);

    /// Ignored while one is going.
    void start(const QString& program, const TuningRequest& request);
    /// Ends the run that is measured; what was found so far is reported.
    void cancel() { m_program.cancel(); }
    [[nodiscard]] bool isGoing() const { return m_program.isGoing(); }

Q_SIGNALS:
    void stateChanged();
    void progressed(const shardscope::desktop::TuningProgress& progress);
    void finished(const shardscope::desktop::TuningOutcome& outcome);
    /// A sentence.
    void failed(const QString& why);

private:
    void hear(const QString& line);
    void conclude(int code, const QByteArray& printed);

    ProgramSession m_program;
    QString m_folder;
    QString m_lastWords;  ///< what was no progress
};

class DataTable;

class TuneDialog : public QDialog {
    Q_OBJECT

public:
    /// Recordings go into a new folder below `folder`.
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
