// Steps of two runs on one time axis: the Timeline's lanes of one rank of each, below each other,
// from the beginning of the first step. GUI thread; reads on a thread of its own.
#pragma once

#include "app/desktop/loading/other_recordings.h"
#include "app/desktop/models/open_recording.h"
#include "app/desktop/pages/compare/step_pairs.h"
#include "app/desktop/pages/timeline/timeline_query.h"

#include <QString>
#include <QStringList>
#include <QWidget>
#include <array>
#include <optional>
#include <set>
#include <vector>

class QComboBox;
class QLabel;
class QPushButton;
class QSpinBox;

namespace shardscope::desktop {

class Legend;
class StepBridge;
class TimelineCanvas;

/// Which runs, and what is looked at first.
struct TimelinePair {
    QStringList files;    ///< the baseline and the judged run
    QStringList letters;  ///< what they are called
    std::optional<StepSpan> steps;
    std::optional<RankId> rank;
    friend bool operator==(const TimelinePair&, const TimelinePair&) = default;
};

class StepTimelines : public QWidget {
    Q_OBJECT

public:
    explicit StepTimelines(QWidget* parent = nullptr);
    void setImportFolder(const QString& folder) { m_readers.setImportFolder(folder); }
    /// Reads them; steps and rank stay while the same runs are shown, unless others are asked for.
    void show(const TimelinePair& pair);
    /// No answer comes.
    void forget();
    [[nodiscard]] bool isReading() const { return !m_open.empty(); }

    /// As many steps as are shown, before or after them.
    void turn(bool forward);
    [[nodiscard]] TimelineCanvas& canvas(bool judged) const { return *m_canvases[judged ? 1 : 0]; }
    [[nodiscard]] const StepPairs& pairs() const { return m_pairs; }

Q_SIGNALS:
    void hoverChanged(const QString& text);

protected:
    void showEvent(QShowEvent* event) override;

private:
    using Runs = std::array<RecordingPtr, 2>;

    void buildControls();
    QWidget* buildCanvases();
    void connectCanvas(std::size_t side);
    template <class Work, class Use>
    void ask(int kind, const QStringList& files, Work work, Use use);
    /// Of the run at `side`; while others are being read what is shown asks for nothing.
    template <class Work, class Use>
    void askAt(std::size_t side, int firstKind, Work work, Use use);
    void take(const Runs& runs);
    void say(const QString& why);
    void presentRanks();
    void presentSteps();
    void chooseSteps(StepSpan steps);
    void presentStretch();
    /// What `side` shows is shown by the other too.
    void follow(std::size_t side);
    void alignPlots();
    void point(std::size_t side);
    /// The part at `side` and the one that is the same at the other.
    [[nodiscard]] std::optional<TimelineHit> sameOf(std::size_t side,
                                                    const TimelineHit& part) const;
    [[nodiscard]] Timestamp originOf(std::size_t side) const {
        return side == 0 ? m_pairs.baselineOrigin : m_pairs.judgedOrigin;
    }
    [[nodiscard]] RankId rank() const;
    [[nodiscard]] QString letter(std::size_t side) const {
        return m_shown.letters.value(static_cast<qsizetype>(side));
    }

    OtherRecordings m_readers{"step timelines"};
    std::set<int> m_open;  ///< kinds of questions without an answer
    TimelinePair m_shown;
    Runs m_runs;  ///< null while they are being read
    std::optional<StepMatch> m_match;
    StepPairs m_pairs;
    bool m_follows = false;  ///< one canvas is made to show what the other does

    QWidget *m_controls = nullptr, *m_full = nullptr;
    QComboBox* m_ranks = nullptr;
    QSpinBox *m_from = nullptr, *m_to = nullptr;
    QPushButton *m_previous = nullptr, *m_next = nullptr;
    std::array<TimelineCanvas*, 2> m_canvases{};
    StepBridge* m_bridge = nullptr;
    Legend* m_legend = nullptr;
    QLabel *m_part = nullptr, *m_note = nullptr;
};

}  // namespace shardscope::desktop
