// What benches read of measured runs: figures by the analyses that report and compare use, memory
// at the moments that theory knows, and the columns that several tables have.
#pragma once

#include "app/cli/bench/bench_kind.h"
#include "engine/run/theory/memory_theory.h"
#include "profiler/analysis/compare/mean_interval.h"
#include "profiler/analysis/compare/run_figures.h"
#include "profiler/analysis/report/report.h"
#include "profiler/questions/answer/answer.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::cli {

/// A recording's steps from a first one on, every one of which counts.
struct RunReading {
    RecordingSummary whole;         ///< all of it
    RecordingSummary summary;       ///< of these steps
    std::vector<RankEvents> ranks;  ///< their events
    analysis::Report report;        ///< of these steps
    std::vector<analysis::RunFigure> figures;
};
[[nodiscard]] Result<RunReading> readRun(const std::string& recording, std::int32_t firstStep);

/// The repetitions of a run: of each figure the samples of every repetition.
class RepeatedRun {
public:
    void add(const RunReading& reading);
    [[nodiscard]] bool empty() const { return m_figures.empty(); }
    /// Of figures by step: by repetition.
    [[nodiscard]] std::vector<std::vector<double>> samples(std::string_view key) const;
    [[nodiscard]] std::optional<analysis::MeanInterval> mean(std::string_view key) const {
        return analysis::meanOfRuns(samples(key));
    }
    /// Of figures of a run as a whole, the largest; of figures by step likewise.
    [[nodiscard]] std::optional<double> largest(std::string_view key) const;

private:
    std::vector<std::vector<analysis::RunFigure>> m_figures;
};

/// Reads all of a run's recordings, handing each to `also` besides.
template <class Also>
[[nodiscard]] Result<RepeatedRun> readRepeated(const RunResult& result, std::int32_t firstStep,
                                               Also also) {
    RepeatedRun repeated;
    for (const std::string& recording : result.recordings) {
        const auto reading = readRun(recording, firstStep);
        if (!reading) return failure(reading);
        repeated.add(*reading);
        also(*reading);
    }
    return repeated;
}
[[nodiscard]] inline Result<RepeatedRun> readRepeated(const RunResult& result,
                                                      std::int32_t firstStep) {
    return readRepeated(result, firstStep, [](const RunReading&) {});
}

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

/// What a rank held at the moments of a step that theory knows, from the allocations that a
/// recording has.
struct MomentsHeld {
    theory::MemoryByCategory initialised{};      ///< when the first step begins
    theory::MemoryByCategory beforeOptimizer{};  ///< when its last step clips or updates
    theory::MemoryByCategory afterOptimizer{};   ///< when its first forward begins
    Bytes forwardPeak;  ///< the most until the last block's forward of the last step is over
};
/// Of rank 0. kFailure: what it lacks for it, a phrase.
[[nodiscard]] Result<MomentsHeld> momentsOf(storage::RecordingReader& reader,
                                            const RecordingSummary& summary);

}  // namespace shardscope::cli
