#include "profiler/analysis/compare/observer_effect.h"

#include "profiler/analysis/findings.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <iterator>
#include <map>
#include <optional>

namespace shardscope::analysis {
namespace {

/// Levels at which steps were recorded, and not at which they were kept.
StepDetail recordedLevels(const RecordingSummary& summary) {
    std::vector<DetailFacts> rows;
    for (const DetailFacts& row : summary.detail)
        if (row.reason == DetailReason::kSchedule || row.reason == DetailReason::kRequest)
            rows.push_back(row);
    return StepDetail(rows);
}

/// Absent: ranks recorded the step at different levels.
std::optional<CaptureLevel> levelOf(const StepDetail& detail, const RecordingSummary& summary,
                                    StepIndex step) {
    std::optional<CaptureLevel> level;
    for (const RankFacts& rank : summary.ranks) {
        const CaptureLevel own = detail.of(rank.rank, step);
        if (level && *level != own) return std::nullopt;
        level = own;
    }
    return level;
}

}  // namespace

std::vector<ObserverEffect> observerEffects(const RecordingSummary& summary,
                                            const std::vector<RankEvents>& ranks) {
    const StepDetail detail = recordedLevels(summary);
    std::map<CaptureLevel, std::vector<double>> times;
    for (const auto& [index, step] : steadySteps(summary, ranks).steps)
        if (const auto level = levelOf(detail, summary, index))
            times[*level].push_back(static_cast<double>(step.range.duration().ns));
    std::vector<ObserverEffect> effects;
    if (times.empty()) return effects;
    const auto& [lowest, least] = *times.begin();
    for (auto level = std::next(times.begin()); level != times.end(); ++level)
        effects.push_back({level->first, lowest, static_cast<std::int64_t>(level->second.size()),
                           static_cast<std::int64_t>(least.size()),
                           differenceOf(least, level->second, Better::kLower)});
    return effects;
}

std::string sameLevelText(const RunFacts& run) {
    return sourceOf(run) == RecordingSource::kProgram
               ? "every step was recorded at the same level (--capture-every records some at less)"
               : "every step was recorded at the same level (--alternate-capture and "
                 "--capture-every record some less)";
}

}  // namespace shardscope::analysis
