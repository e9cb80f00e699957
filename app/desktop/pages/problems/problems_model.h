// What the Problems page lists: what limits trust or asks for action, what was checked, and what
// is unknown; and all of it as a file. Pure.
#pragma once

#include "app/desktop/models/findings.h"
#include "app/desktop/models/selected_part.h"
#include "profiler/analysis/rules/checks.h"
#include "profiler/questions/answer/answer.h"

#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

namespace shardscope::desktop {

struct CheckRow {
    QString what;
    analysis::CheckState state = analysis::CheckState::kUnknown;
    QString found;
};

struct ProblemGroup {
    QString title;
    std::vector<Finding> findings;  ///< most severe first
};

/// Which severities are listed, or which checks.
enum class ProblemFilter : std::uint8_t {
    kEverything,
    kForAction,  ///< problems and warnings: what the badge counts
    kProblems,
    kWarnings,
    kNotes,
    kUnknown,  ///< checks with unknown result
};
/// In the order of ProblemFilter.
[[nodiscard]] QStringList problemFilterNames();

struct ProblemsView {
    std::vector<Finding> findings;
    std::vector<CheckRow> checks;  ///< without `trust`, only those of the report
};
/// `trust`: the answer to that question about the same part; null: it is not there yet.
[[nodiscard]] ProblemsView problemsView(const SelectedPart& part, const questions::Answer* trust);

[[nodiscard]] QString problemsHeadline(const ProblemsView& view, const SelectedPart& part);
[[nodiscard]] QString problemsSubline(const ProblemsView& view, const SelectedPart& part);
/// Groups with something in them, in the order of NoticeTopic.
[[nodiscard]] std::vector<ProblemGroup> problemGroups(const std::vector<Finding>& findings,
                                                      ProblemFilter filter);
[[nodiscard]] std::vector<CheckRow> checksOf(const ProblemsView& view, ProblemFilter filter);

enum class ProblemFormat : std::uint8_t { kMarkdown, kCsv, kJson };
/// What is listed, whole. JSON has the schema "shardscope.problems/1".
[[nodiscard]] QString exportedProblems(const ProblemsView& view, const SelectedPart& part,
                                       ProblemFormat format);

}  // namespace shardscope::desktop
