#include "app/cli/bench/bench_columns.h"

namespace shardscope::cli {

using questions::Shown;
using questions::Unit;

std::vector<questions::Column> stepColumns() {
    return {{"step_ns", "step", Unit::kNanoseconds,
             "Mean over repetitions, each of which counts by the mean of its measured steps: from "
             "the first rank's beginning to the last one's end."},
            {"step_deviation_ns", "deviation", Unit::kNanoseconds,
             "Standard deviation between repetitions; of one alone between its steps."},
            {"step_half_ns", "+-", Unit::kNanoseconds,
             "Half of the 95 % interval of the mean, t s / sqrt(n) (Student); of one repetition it "
             "says nothing of how runs differ."},
            {"step_low_ns", "from", Unit::kNanoseconds, "Interval's lower end.", Shown::kToScripts},
            {"step_high_ns", "to", Unit::kNanoseconds, "Interval's upper end.", Shown::kToScripts}};
}

std::vector<Cell> stepCells(const std::optional<analysis::MeanInterval>& step) {
    if (!step) return std::vector<Cell>(5);
    return {step->mean, cellOf(step->deviation),
            step->high ? Cell(*step->high - step->mean) : Cell(), cellOf(step->low),
            cellOf(step->high)};
}

}  // namespace shardscope::cli
