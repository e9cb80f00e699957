// Training: curves over the same steps with one cursor, how they are spread, what steps were spent
// on, targets. GUI thread.
#pragma once

#include "app/desktop/loading/other_recordings.h"
#include "app/desktop/loading/topic.h"
#include "app/desktop/models/curves.h"
#include "app/desktop/models/targets.h"
#include "app/desktop/models/training_figures.h"
#include "app/desktop/pages/recording_page.h"

#include <QObject>
#include <QString>
#include <array>
#include <memory>
#include <vector>

class QCheckBox;
class QGridLayout;
class QPushButton;
class QSlider;

namespace shardscope::desktop {

// Curves of other recordings beside those of the open one, read on a separate thread. GUI
// thread; no answer comes after its end.

class ComparedRuns : public QObject {
    Q_OBJECT

public:
    explicit ComparedRuns(QObject* parent = nullptr) : QObject(parent) {}

    /// A file that is already among them is read again.
    void add(const QString& path);
    void clear();
    [[nodiscard]] const std::vector<ComparedRun>& runs() const { return m_runs; }

Q_SIGNALS:
    void changed();
    void failed(const QString& path, const QString& message);

private:
    void take(ComparedRun run);

    std::vector<ComparedRun> m_runs;
    int m_asked = 0;
    OtherRecordings m_recordings{"curves"};
};

class ChartPanel;
class Legend;
class MessageState;
class ColumnChart;
class TargetLine;

class TrainingPage : public RecordingPage {
    Q_OBJECT

public:
    [[nodiscard]] static PageEntry entry();
    explicit TrainingPage(PageContext& context, QWidget* parent = nullptr);
    /// Draws the curves of another recording over these.
    void compareWith(const QString& path) { m_others.add(path); }
    [[nodiscard]] const ComparedRuns& others() const { return m_others; }

protected:
    void present() override;

private:
    QWidget* buildContent();
    QWidget* buildFull(QWidget* parent);
    void buildControls();
    void chooseOther();
    void selectStepAt(double x);
    void selectStretch(double low, double high);
    [[nodiscard]] bool hasStep(int step) const;
    void askForCurves();
    [[nodiscard]] bool hasCurves() const;
    void presentCurves();
    void presentSpreads();
    void presentSplit();

    QString m_settingsFile;
    ComparedRuns m_others;
    QWidget* m_full = nullptr;
    MessageState* m_none = nullptr;  ///< a recording without metrics
    TargetLine* m_targets = nullptr;
    QGridLayout* m_grid = nullptr;
    std::array<ChartPanel*, 6> m_curves{};
    /// Of the selected ranks, where only some are; of which recording and ranks.
    Topic m_ofRanks;
    std::shared_ptr<const StepCurves> m_rankCurves;
    RecordingPtr m_curvesRecording;
    std::vector<RankId> m_curvesRanks;
    std::array<ChartPanel*, 3> m_spreads{};
    QWidget* m_splitBlock = nullptr;
    ColumnChart* m_split = nullptr;
    Legend* m_splitLegend = nullptr;
    std::vector<StepSpan> m_splitSteps;
    QSlider* m_smoothing = nullptr;
    QCheckBox* m_logarithmic = nullptr;
    QPushButton* m_compare = nullptr;
    QPushButton* m_alone = nullptr;
};

}  // namespace shardscope::desktop
