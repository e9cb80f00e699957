// Which of a grid of settings is fastest, without measuring all of them.
//
// A predictor says what it expects of each point, a measurer what is. Next is measured what is
// expected to be least, where an expectation is the prediction times what the points measured so
// far took over theirs: their geometric mean, weighted by 1 / 4^d, d axes apart. So what a
// predictor does not know of an axis is learned where it was seen, and counts most nearby. Pure.
#pragma once

#include "storage/model/result.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace shardscope::planning {

/// Place of a value on each axis.
using TuningPoint = std::vector<std::size_t>;

struct TuningTask {
    std::vector<std::size_t> axes;  ///< how many values each has
    /// Above zero, in any unit that is the same for all; nothing: it cannot be, as for lack of
    /// memory, and is never measured.
    std::function<std::optional<double>(const TuningPoint&)> predict;
    /// In the same sense, less is better; nothing: that point failed, others go on. An error ends
    /// the search, and what was found stands.
    std::function<Result<std::optional<double>>(const TuningPoint&)> measure;
    std::size_t mostRuns = 0;
    std::function<bool()> mayGoOn;  ///< of a budget of time; null: always
};

struct TuningStep {
    TuningPoint point;
    double expected = 0;             ///< before it was measured
    std::optional<double> measured;  ///< nothing: it failed
};

struct Tuned {
    std::vector<TuningStep> path;     ///< in the order of measuring
    std::optional<std::size_t> best;  ///< place in it
    std::size_t points = 0;           ///< of the grid that can be
    std::optional<Error> ended;
};
[[nodiscard]] Tuned tune(const TuningTask& task);

}  // namespace shardscope::planning
