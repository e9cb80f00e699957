// What the Compare page says and shows of a comparison. Its figures are those of the question's
// answer, as `shardscope compare` prints them. Pure.
#pragma once

#include "app/desktop/models/answer_table.h"
#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/format.h"
#include "app/desktop/pages/compare/compare_query.h"
#include "profiler/analysis/compare/difference.h"

#include <QString>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// "A", "B": what a recording is called where there is no room for its name.
[[nodiscard]] QString letterOf(std::size_t place);

/// One figure of both.
struct CompareCard {
    QString key;  ///< "step.time_ns"
    QString title, briefTitle;
    ValueText value;           ///< of the run that is judged
    QString before;            ///< of the baseline
    QString change;            ///< "+3.1 %, between −1.0 % and +7.2 %"
    QString verdict;           ///< with a sign: "▲ regressed"
    std::optional<bool> good;  ///< nullopt: no change, or unknown
    QString definition;
};

[[nodiscard]] QString compareHeadline(const Comparison& comparison);
[[nodiscard]] QString compareSubline(const Comparison& comparison);
using ComparedFigures = std::vector<questions::ComparedFigure>;
/// Those that people look at first; of figures that neither has there is none.
[[nodiscard]] std::vector<CompareCard> compareCards(const ComparedFigures& figures);
/// The ledger's parts: medians over the steps, means over the ranks, largest first.
[[nodiscard]] std::vector<MirroredBar> mirroredLedger(const ComparedFigures& figures);
/// Tables of what makes the difference that the answer has: key and title.
[[nodiscard]] std::vector<std::pair<const char*, QString>> differenceTables(
    const questions::Answer& answer);

/// Loss curves, a line a recording, the first as the baseline.
[[nodiscard]] std::vector<LineSeries> lossSeries(const Comparison& comparison);
/// Where losses part, beyond noise.
[[nodiscard]] std::vector<ChartMark> lossMarks(const Comparison& comparison);

/// The step of a recording whose time is nearest to the median that it is compared by; nullopt:
/// there are none. `place`: of the recording.
[[nodiscard]] std::optional<StepIndex> medianStep(const Comparison& comparison, std::size_t place);
/// First and last that it has.
[[nodiscard]] std::optional<StepSpan> stepsOf(const ComparedRecording& recording);
/// A bar a rank and recording, from the step's start on, in order of time; in ms. Neighbouring bars
/// are of the same rank.
struct StepBars {
    std::vector<StackedBar> bars;
    struct Origin {
        std::size_t recording = 0;
        StepIndex step;
        RankId rank;
    };
    std::vector<Origin> origins;  ///< of each bar
};
[[nodiscard]] StepBars stepBars(const std::vector<std::vector<questions::StepOfRank>>& steps);
[[nodiscard]] std::vector<LegendEntry> stepLegend(
    const std::vector<std::vector<questions::StepOfRank>>& steps);

}  // namespace shardscope::desktop
