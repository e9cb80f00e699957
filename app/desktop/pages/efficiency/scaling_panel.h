// How throughput grows with ranks: the open recording and the compared ones, against a measured
// rank alone. GUI thread.
#pragma once

#include "app/desktop/loading/other_recordings.h"
#include "app/desktop/models/compared_files.h"
#include "app/desktop/models/open_recording.h"
#include "app/desktop/pages/efficiency/efficiency_query.h"

#include <QString>
#include <QWidget>
#include <optional>

class QLabel;
class QPushButton;

namespace shardscope::desktop {

class ChartPanel;
class DataTable;

class ScalingPanel : public QWidget {
    Q_OBJECT

public:
    /// `files` outlive it.
    explicit ScalingPanel(ComparedFiles& files, QWidget* parent = nullptr);
    void setImportFolder(const QString& folder) { m_readers.setImportFolder(folder); }
    /// Asks where recording or files changed. `target`: of the efficiency, 0 to 1.
    void present(const RecordingPtr& recording, double target);
    /// Another recording is being opened.
    void forget();
    [[nodiscard]] bool isReading() const { return m_isReading; }
    /// What is shown; null: nothing.
    [[nodiscard]] const ScalingFramePtr& shown() const { return m_frame; }
    void addRecordings();

private:
    QWidget* buildFull();
    void ask(const ScalingQuery& query);
    void take(const Result<ScalingFramePtr>& made);
    void refresh();
    void showFrame();

    ComparedFiles& m_files;
    OtherRecordings m_readers{"scaling"};
    RecordingPtr m_recording;
    double m_target = 0;
    bool m_anyway = false, m_isReading = false;
    std::optional<ScalingQuery> m_asked;
    bool m_askedFinished = false;  ///< the open recording was, when it was asked about
    QString m_failure;
    ScalingFramePtr m_frame;

    QLabel *m_words, *m_unknown;
    QPushButton *m_add, *m_show;
    QWidget* m_full;
    ChartPanel *m_efficiency, *m_throughput;
    DataTable* m_table;
};

}  // namespace shardscope::desktop
