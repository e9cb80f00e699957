#include "profiler/questions/scaling.h"

#include "profiler/analysis/compare/comparability.h"
#include "profiler/analysis/compare/scaling.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/question.h"
#include "storage/model/rank_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace shardscope::questions {
namespace {

using analysis::Scaling;
using analysis::ScalingKind;
using analysis::ScalingPoint;
using analysis::ScalingRun;

/// Recordings, read one after the other.
struct Sides {
    std::vector<RecordingSummary> summaries;
    std::vector<ScalingRun> runs;
};

Result<Sides> read(const std::vector<ScaledRecording>& recordings) {
    Sides sides;
    const Selection all;
    for (const ScaledRecording& recording : recordings) {
        auto summary = recording.reader->summary();
        if (!summary) return failure(summary);
        const auto ranks = Asked{*recording.reader, *summary, all}.events();
        if (!ranks) return failure(ranks);
        sides.runs.push_back(analysis::scalingRun(*summary, *ranks));
        sides.summaries.push_back(std::move(*summary));
    }
    return sides;
}

Result<void> checkAlike(const std::vector<RecordingSummary>& summaries, bool anyway,
                        Answer& answer) {
    for (std::size_t i = 1; i < summaries.size(); ++i) {
        const auto found = analysis::scalingComparabilityOf(summaries.front(), summaries[i],
                                                            fmt::format("recording {}", i + 1));
        if (!found.refusals.empty() && !anyway)
            return failure(
                ErrorCode::kUsage,
                fmt::format(
                    "these recordings do not scale the same work: {} Use --anyway to see the "
                    "figures anyway",
                    fmt::join(found.refusals, " ")));
        for (const auto* sentences : {&found.refusals, &found.warnings})
            answer.sentences.insert(answer.sentences.end(), sentences->begin(), sentences->end());
    }
    return {};
}

Table pointTable() {
    return {
        "recordings",
        "By number of ranks",
        {{"recording", "recording", Unit::kNone, "Its position among the recordings given."},
         {"name", "name"},
         {"ranks", "ranks", Unit::kCount},
         {"tokens", "tokens/step", Unit::kCount, "Of all ranks: the global batch."},
         {"tokens_per_rank", "per rank", Unit::kCount, "Tokens of a step / ranks."},
         {"step_ns", "step", Unit::kNanoseconds, "Median of the steady steps."},
         {"tokens_per_s", "throughput", Unit::kTokensPerSecond, "Of all ranks, median step."},
         {"speedup", "speedup", Unit::kNone, "Throughput / that of the fewest ranks."},
         {"efficiency_pct", "efficiency", Unit::kOfPeak,
          "Throughput of n ranks / (n x the measured throughput of one)."},
         {"low_pct", "from", Unit::kOfPeak, "Interval of the efficiency, 99.7 %, block bootstrap."},
         {"high_pct", "to", Unit::kOfPeak, "Its other end."},
         {"serial_fraction", "serial fraction", Unit::kNone,
          "(1/S - 1/n) / (1 - 1/n), S = throughput / that of one rank; of strong scaling."}},
        {}};
}

Cell perRank(const ScalingRun& run) {
    return run.missing.empty() ? Cell(static_cast<double>(run.tokensPerStep) / run.ranks) : Cell();
}

void addPoints(const std::vector<ScaledRecording>& recordings, const std::vector<ScalingRun>& runs,
               const Scaling& scaling, Answer& answer) {
    constexpr double kNanoseconds = 1e9;
    Table table = pointTable();
    for (const ScalingPoint& point : scaling.points) {
        const ScalingRun& run = runs[point.run];
        const auto number = static_cast<std::int64_t>(point.run) + 1;
        const bool known = run.missing.empty();
        if (!known)
            answer.unknown.push_back(fmt::format("throughput of recording {} ({}) unknown: {}",
                                                 number, recordings[point.run].name, run.missing));
        table.rows.push_back({number, recordings[point.run].name, std::int64_t{run.ranks},
                              known ? Cell(run.tokensPerStep) : Cell(), perRank(run),
                              known ? Cell(run.stepSeconds * kNanoseconds) : Cell(),
                              known ? Cell(run.tokensPerSecond) : Cell(), cell(point.speedup),
                              percent(point.efficiency), percent(point.low), percent(point.high),
                              cell(point.serialFraction)});
    }
    answer.tables.push_back(std::move(table));
}

/// Of the most ranks, which people ask for.
void addVerdict(const std::vector<ScalingRun>& runs, const Scaling& scaling, Answer& answer) {
    if (scaling.kind != ScalingKind::kUnknown)
        answer.sentences.emplace_back(
            scaling.kind == ScalingKind::kStrong
                ? "Strong scaling: the tokens of a step are the same in all recordings."
                : "Weak scaling: the tokens of a step and rank are the same in all recordings.");
    const ScalingPoint* last = nullptr;
    for (const ScalingPoint& point : scaling.points)
        if (point.speedup) last = &point;
    if (last == nullptr || runs[last->run].ranks == scaling.fewest) return;
    std::string sentence = fmt::format("{} ranks are {:.2f} times as fast as {}",
                                       runs[last->run].ranks, *last->speedup, scaling.fewest);
    if (last->efficiency) sentence += fmt::format(": efficiency {:.1f} %", 100 * *last->efficiency);
    if (last->low && last->high)
        sentence +=
            fmt::format(" (between {:.1f} and {:.1f} %)", 100 * *last->low, 100 * *last->high);
    answer.sentences.push_back(sentence + '.');
}

}  // namespace

Result<Answer> scalingOfRecordings(const std::vector<ScaledRecording>& recordings, bool anyway) {
    const auto sides = read(recordings);
    if (!sides) return failure(sides);
    Answer answer;
    answer.question = "scaling";
    if (auto alike = checkAlike(sides->summaries, anyway, answer); !alike) return failure(alike);
    const Scaling scaling = analysis::scalingOf(sides->runs);
    answer.settings.emplace_back("kind", toWord(scaling.kind));
    addVerdict(sides->runs, scaling, answer);
    addPoints(recordings, sides->runs, scaling, answer);
    if (!scaling.kindMissing.empty())
        answer.unknown.push_back("whether scaling is strong or weak is unknown: " +
                                 scaling.kindMissing);
    if (!scaling.efficiencyMissing.empty())
        answer.unknown.push_back("efficiency unknown: " + scaling.efficiencyMissing);
    return answer;
}

}  // namespace shardscope::questions
