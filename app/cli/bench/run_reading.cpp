#include "app/cli/bench/run_reading.h"

#include "profiler/analysis/part.h"
#include "profiler/questions/selection.h"
#include "storage/recording/read/recording_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace shardscope::cli {

Result<RunReading> readRun(const std::string& recording, std::int32_t firstStep) {
    auto reader = storage::openRecording(recording);
    if (!reader) return failure(reader);
    auto whole = (*reader)->summary();
    if (!whole) return failure(whole);
    questions::Selection selection;
    if (firstStep > 0)
        selection.steps = {
            {StepIndex{firstStep}, StepIndex{std::numeric_limits<std::int32_t>::max()}}};
    auto selected = selection.of(*whole);
    if (!selected) return failure(selected, recording);
    analysis::keepAllSteps(*selected);
    RunReading reading;
    for (const RankFacts& rank : selected->ranks) {
        auto events = (*reader)->rankEvents(rank.rank, selection.timeOf(*selected, rank.rank));
        if (!events) return failure(events);
        reading.ranks.push_back(selection.of(*selected, std::move(*events)));
    }
    reading.whole = std::move(*whole);
    reading.summary = std::move(*selected);
    reading.report = analysis::analyse(reading.summary, reading.ranks);
    reading.figures = analysis::runFigures(reading.summary, reading.ranks, reading.report);
    return reading;
}

void RepeatedRun::add(const RunReading& reading) {
    m_figures.push_back(reading.figures);
}

std::vector<std::vector<double>> RepeatedRun::samples(std::string_view key) const {
    std::vector<std::vector<double>> runs;
    for (const auto& figures : m_figures)
        if (const analysis::RunFigure* figure = analysis::findFigure(figures, key))
            runs.push_back(figure->samples);
    return runs;
}

std::optional<double> RepeatedRun::largest(std::string_view key) const {
    std::optional<double> most;
    for (const auto& figures : m_figures) {
        const analysis::RunFigure* figure = analysis::findFigure(figures, key);
        if (figure == nullptr) continue;
        for (const double sample : figure->samples) most = std::max(most.value_or(sample), sample);
        if (figure->whole) most = std::max(most.value_or(*figure->whole), *figure->whole);
    }
    return most;
}

}  // namespace shardscope::cli
