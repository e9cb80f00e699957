// Columns that tables of several benches have.
#pragma once

#include "profiler/analysis/mean_interval.h"
#include "profiler/questions/answer.h"

#include <iterator>
#include <optional>
#include <vector>

namespace shardscope::cli {

using questions::Cell;

[[nodiscard]] inline Cell cellOf(std::optional<double> value) {
    return value ? Cell(*value) : Cell();
}

/// The time of a step: mean, deviation, half of the interval, and the interval for scripts.
[[nodiscard]] std::vector<questions::Column> stepColumns();
[[nodiscard]] std::vector<Cell> stepCells(const std::optional<analysis::MeanInterval>& step);

template <class T>
void append(std::vector<T> more, std::vector<T>& all) {
    all.insert(all.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

}  // namespace shardscope::cli
