// The one selection of a window: a stretch of time and some ranks, with back and forward.
// GUI thread; owned by the shell, borrowed by every page.
#pragma once

#include "storage/model/ids.h"
#include "storage/model/units.h"

#include <QObject>
#include <optional>
#include <vector>

namespace shardscope::desktop {

struct Selection {
    std::optional<TimeRange> range;  ///< nullopt: the whole run
    std::vector<RankId> ranks;       ///< sorted; empty: all

    [[nodiscard]] bool includes(RankId rank) const;
    [[nodiscard]] bool isEverything() const { return !range && ranks.empty(); }
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
    void selectRanks(std::vector<RankId> ranks);
    void clear() { select({}); }
    void goBack();
    void goForward();
    /// Forgets everything: another recording was opened.
    void reset();

Q_SIGNALS:
    void selectionChanged();

private:
    std::vector<Selection> m_history{Selection{}};
    std::size_t m_position = 0;
};

}  // namespace shardscope::desktop
