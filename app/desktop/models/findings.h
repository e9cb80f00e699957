// Findings of a recording as pages list them: the fact, its consequence, what to do, and where to
// see it. Pure.
#pragma once

#include "app/desktop/models/selected_part.h"
#include "profiler/analysis/rules/notices.h"

#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

namespace shardscope::desktop {

struct Finding {
    Severity severity = Severity::kNote;
    analysis::NoticeTopic topic = analysis::NoticeTopic::kRun;
    QString code;  ///< "late-rank"
    QString title;
    QString detail;
    QString consequence;     ///< what follows for who reads the figures
    QString remedy;          ///< what to try, a phrase; empty: nothing is known
    std::int64_t count = 1;  ///< of this kind
    QString page;            ///< where "Show me" leads; empty: nothing to show
    Selection evidence;      ///< and what it selects there
    /// What it points at there: what the rank, or any, did longest within it. nullopt: nothing
    /// single.
    std::optional<TimeRange> longestIn;
    std::optional<RankId> rank;

    /// Everything but the title.
    [[nodiscard]] QString words() const;
};

/// Those of profiler/analysis/rules/notices.h, in that order.
[[nodiscard]] std::vector<Finding> findings(const SelectedPart& part);
/// How many of them ask for something to be done.
[[nodiscard]] int problemCount(const std::vector<Finding>& findings);
/// That nothing stands out, where enough could be looked at to say so; and what could not.
[[nodiscard]] std::vector<QString> verdicts(const SelectedPart& part);

}  // namespace shardscope::desktop
