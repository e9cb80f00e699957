#include "profiler/analysis/findings.h"
#include "profiler/planning/forecast.h"
#include "profiler/planning/plan_times.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/questions.h"
#include "profiler/questions/scenarios.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::questions {
namespace {

using planning::Alternative;
using planning::Alternatives;
using planning::Forecast;

Table settingsTable(const Alternatives& found) {
    Table table{
        "settings",
        "With other settings, estimated",
        {{"varied", "varied"},
         {"setting", "setting"},
         {"step_ns", "step", Unit::kNanoseconds, "Of the schedule with this setting, played."},
         {"low_ns", "from", Unit::kNanoseconds,
          "Four in five runs of it have their median step between this and the next."},
         {"high_ns", "to", Unit::kNanoseconds,
          "By the model's error on the recorded step, how far runs lie apart, and how far the "
          "setting is from the recorded one."},
         {"change_pct", "step", Unit::kChange, "Against the recorded settings, played likewise."},
         {"tokens_per_s", "tokens/s", Unit::kTokensPerSecond, "Of all ranks."},
         {"tokens_change_pct", "tokens/s", Unit::kChange,
          "Against the recorded settings, played likewise."},
         {"waiting_pct", "waiting", Unit::kPercent,
          "Of the step, communication that nothing hides."}},
        {}};
    for (const Alternative& each : found.all) {
        const Forecast& made = each.forecast;
        // Of recorded settings that nothing is known of there is no change.
        const double known = found.recorded.unknown.empty() ? 1 : NAN;
        const double time = known * made.step.time.seconds() / found.recorded.step.time.seconds();
        const double tokens = known * made.tokensPerSecond / found.recorded.tokensPerSecond;
        table.rows.push_back({toWord(each.varied), each.text, made.step.time.ns, made.low.ns,
                              made.high.ns, finite(100 * (time - 1)), finite(made.tokensPerSecond),
                              finite(100 * (tokens - 1)), percent(made.waitingShare())});
    }
    return table;
}

void addFigures(const Alternatives& found, std::optional<double> recordedSeconds,
                const planning::ComputeTimes& times, Answer& answer) {
    answer.figures.push_back(
        {{"steps", "Steps", Unit::kCount, "Steady ones that times are taken from."},
         std::int64_t{times.steps}});
    if (!recordedSeconds) return;
    answer.figures.push_back({{"step_ns", "Median step", Unit::kNanoseconds, "As recorded."},
                              Duration{std::llround(*recordedSeconds * 1e9)}.ns});
    if (!found.recorded.unknown.empty()) {
        answer.unknown.push_back("the model's error on the recorded step is unknown: " +
                                 found.recorded.unknown);
        return;
    }
    const double played = found.recorded.step.time.seconds();
    answer.figures.push_back({{"played_ns", "The same, played", Unit::kNanoseconds,
                               "The model's own step with the recorded settings."},
                              found.recorded.step.time.ns});
    answer.figures.push_back({{"error_pct", "Error of the model", Unit::kChange,
                               "Of the played step against the recorded one: what is estimated "
                               "below is no better than that."},
                              100 * (played / *recordedSeconds - 1)});
}

/// Settings whose transfers nothing is known of, by the reason.
void addUnknown(const Alternatives& found, Answer& answer) {
    std::map<std::string, std::vector<std::string>> byReason;
    for (const planning::NotForecast& each : found.unknown) byReason[each.why].push_back(each.text);
    for (const auto& [why, settings] : byReason)
        answer.unknown.push_back(
            fmt::format("what {} would do is unknown: {}", fmt::join(settings, ", "), why));
}

}  // namespace

Result<Answer> askWhatIf(const Asked& asked) {
    const auto ranks = asked.events();
    if (!ranks) return failure(ranks);
    Answer answer;
    const auto learnt = planning::timesOfRecording(asked.summary, *ranks, "the run");
    if (!learnt) {
        answer.unknown.push_back("what other settings would do is unknown: " +
                                 learnt.error().message);
        // The recorded activities can be played again all the same.
        if (asked.faster.empty()) return answer;
        if (auto added = addScenarios(asked, *ranks, answer); !added) return failure(added);
        return answer;
    }
    answer.doubt = learnt->doubt;
    const planning::ComputeTimes* times = &learnt->computing.front();
    const auto& link = learnt->link;
    const Alternatives found = planning::alternativesOf(*times, link ? &*link : nullptr);
    addFigures(found, analysis::measureThroughput(asked.summary, *ranks).stepSecondsMedian, *times,
               answer);
    if (link) answer.sentences.push_back("Link: " + link->source() + ".");
    answer.sentences.emplace_back(
        times->ranksOnHost == times->config.ranks
            ? "Other numbers of ranks are all on one host, and share its cores."
            : fmt::format("Other numbers of ranks are on hosts of {} each.", times->ranksOnHost));
    if (!link)
        answer.unknown.emplace_back(
            "what more ranks or another strategy would do is unknown: nothing is known of a "
            "link between ranks; record two ranks or more");
    answer.tables.push_back(settingsTable(found));
    addUnknown(found, answer);
    if (auto added = addScenarios(asked, *ranks, answer); !added) return failure(added);
    return answer;
}

}  // namespace shardscope::questions
