// The one selection of a window: steps or a stretch of time, and some ranks; with the page that it
// was looked at on, back and forward.
// GUI thread; owned by the shell, borrowed by every page.
#pragma once

#include "storage/model/ids.h"
#include "storage/model/units.h"

#include <QObject>
#include <QString>
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

/// What one looks at: a page, by its id, and what is selected there.
struct View {
    QString page;
    Selection selection;
    friend bool operator==(const View&, const View&) = default;
};

class SelectionModel : public QObject {
    Q_OBJECT

public:
    explicit SelectionModel(QObject* parent = nullptr);

    [[nodiscard]] const Selection& current() const { return view().selection; }
    [[nodiscard]] const View& view() const { return m_history[m_position]; }
    [[nodiscard]] bool canGoBack() const { return m_position > 0; }
    [[nodiscard]] bool canGoForward() const { return m_position + 1 < m_history.size(); }

    /// One step of the way, whatever changes.
    void show(const View& next);
    void select(const Selection& selection) { show({view().page, selection}); }
    /// Another page, of the same selection.
    void visit(const QString& page);
    /// The user turned to another page that is seen too: no step of the way, and no signal.
    void turnTo(const QString& page) { m_history[m_position].page = page; }
    void selectRange(TimeRange range);
    void selectSteps(StepSpan steps);
    void selectRanks(std::vector<RankId> ranks);
    void clear() { select({}); }
    void goBack();
    void goForward();
    /// All that is selected, or was, lies later by so much: the recording does.
    void shift(Duration by);
    /// Forgets everything but the page: another recording was opened.
    void reset();

Q_SIGNALS:
    void selectionChanged();
    /// After selectionChanged(), where both do.
    void pageChanged();

private:
    void goTo(std::size_t position);
    void announce(const View& before);

    std::vector<View> m_history{View{}};
    std::size_t m_position = 0;
};

}  // namespace shardscope::desktop
