// The one selection of a window: steps or a stretch of time, and some ranks, with back and forward.
// GUI thread; owned by the shell, borrowed by every page.
#pragma once

#include "storage/model/ids.h"
#include "storage/model/units.h"

#include <QObject>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// Steps first..last, both included.
struct StepSpan {
    StepIndex first;
    StepIndex last;
    [[nodiscard]] bool contains(StepIndex step) const { return first <= step && step <= last; }
    friend bool operator==(const StepSpan&, const StepSpan&) = default;
};

/// Steps are selected by number, not by a stretch of time that touches their neighbours: of `steps`
/// and `range` at most one is there. Where time is drawn, OpenRecording::timeOf() has that of
/// steps.
struct Selection {
    std::optional<TimeRange> range;  ///< nullopt, and no steps: the whole run
    std::optional<StepSpan> steps;
    std::vector<RankId> ranks;  ///< sorted; empty: all

    [[nodiscard]] bool includes(RankId rank) const;
    /// Whether it leaves anything out of time.
    [[nodiscard]] bool cutsTime() const { return range || steps; }
    [[nodiscard]] bool isEverything() const { return !cutsTime() && ranks.empty(); }
    friend bool operator==(const Selection&, const Selection&) = default;
};

class SelectionModel : public QObject {
    Q_OBJECT

public:
    explicit SelectionModel(QObject* parent = nullptr);

    [[nodiscard]] const Selection& current() const { return m_history[m_position]; }
    [[nodiscard]] bool canGoBack() const { return m_position > 0; }
    [[nodiscard]] bool canGoForward() const { return m_position + 1 < m_history.size(); }

    void select(const Selection& selection);
    void selectRange(TimeRange range);
    void selectSteps(StepSpan steps);
    void selectRanks(std::vector<RankId> ranks);
    void clear() { select({}); }
    void goBack();
    void goForward();
    /// All that is selected, or was, lies later by so much: the recording does.
    void shift(Duration by);
    /// Forgets everything: another recording was opened.
    void reset();

Q_SIGNALS:
    void selectionChanged();

private:
    std::vector<Selection> m_history{Selection{}};
    std::size_t m_position = 0;
};

}  // namespace shardscope::desktop
