// What the Compare page reads: two or more recordings against each other, and one step of each.
// Runs on the thread of OtherRecordings; results are immutable.
#pragma once

#include "app/desktop/loading/other_recordings.h"
#include "app/desktop/models/answer_table.h"
#include "app/desktop/models/curves.h"
#include "profiler/analysis/compare/comparability.h"
#include "profiler/analysis/steps/training_health.h"
#include "profiler/questions/answer/answer.h"
#include "profiler/questions/compare.h"
#include "profiler/questions/read_pieces.h"
#include "profiler/questions/selection.h"

#include <QString>
#include <QStringList>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::desktop {

struct CompareQuery {
    QStringList files;  ///< baselines, and last the run that is judged
    QStringList names;  ///< what they are called
    bool anyway = false;
    Selection selection;  ///< steps and ranks, of each of them
    friend bool operator==(const CompareQuery&, const CompareQuery&) = default;
};

struct ComparedRecording {
    QString name;
    int ranks = 0;
    bool finalised = true;
    StepCurves curves;
};

struct Comparison {
    CompareQuery query;
    std::vector<ComparedRecording> recordings;  ///< as in the query
    analysis::Comparability able;
    bool refused = false;                                    ///< what follows is not there
    questions::Answer answer;                                ///< that of `shardscope compare`
    std::vector<questions::ComparedFigure> figures;          ///< of the answer
    std::map<std::string, AnswerTable, std::less<>> tables;  ///< of the answer, by key
    analysis::LossCurves losses;                             ///< of the first and the last
    std::string lossSentence;                                ///< empty: no step has a loss in both
};
using ComparisonPtr = std::shared_ptr<const Comparison>;
/// What the last is compared with, by letters: "A", "A and B", "A to C".
[[nodiscard]] QString baselineName(std::size_t recordings);
/// What they are called in sentences: by their letters.
[[nodiscard]] analysis::SideNames sideNames(std::size_t recordings);
[[nodiscard]] Result<ComparisonPtr> readComparison(const OtherRecordings::Readers& readers,
                                                   const CompareQuery& query);

/// A step of each recording, by place.
using StepsPtr = std::shared_ptr<const std::vector<std::vector<questions::StepOfRank>>>;
inline constexpr std::size_t kMostComparedRanks = 8;
[[nodiscard]] Result<StepsPtr> readSteps(const OtherRecordings::Readers& readers,
                                         const std::vector<StepIndex>& steps);

}  // namespace shardscope::desktop
