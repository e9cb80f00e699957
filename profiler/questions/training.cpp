#include "profiler/analysis/training_health.h"
#include "profiler/questions/cells.h"
#include "profiler/questions/questions.h"

#include <fmt/format.h>

namespace shardscope::questions {
namespace {

using analysis::TrainingEvent;
using analysis::TrainingMoment;

Table momentTable(const std::vector<TrainingMoment>& moments) {
    Table table{"events",
                "What happened, by time",
                {{"step", "step"},
                 {"event", "event"},
                 {"time_ns", "time", Unit::kNanoseconds, "On the recording's clock."},
                 {"value", "value", Unit::kOfRow,
                  "The loss, norm, scale or time of the step; none where it is no number."},
                 {"typical", "typical", Unit::kOfRow, "What it is compared with."},
                 {"unit", "unit"},
                 {"meaning", "meaning"}},
                {}};
    for (const TrainingMoment& moment : moments)
        table.rows.push_back({stepCell(moment.step), toWord(moment.event), moment.time.ns,
                              finite(moment.value),
                              moment.typical > 0 ? finite(moment.typical) : Cell(),
                              moment.event == TrainingEvent::kSlowStep ? "ns" : "",
                              entryOf(moment.event)->definition});
    return table;
}

}  // namespace

Result<Answer> askTraining(const Asked& asked) {
    const auto ranks = asked.events();
    if (!ranks) return failure(ranks);
    const analysis::TrainingHealth health = analysis::trainingHealth(asked.summary, *ranks);
    Answer answer;
    if (health.losses + health.gradientNorms == 0)
        answer.untold.emplace_back(
            "could not tell whether training is healthy: no losses and no gradient norms were "
            "recorded");
    if (health.steps == 0)
        answer.untold.emplace_back(
            "could not tell of slow steps: no step was finished by all ranks");
    if (answer.untold.size() < 2)
        answer.sentences.push_back(fmt::format(
            "{} of note in {} losses, {} gradient norms and {} steady steps.",
            health.moments.empty() ? "Nothing" : std::to_string(health.moments.size()) + " events",
            health.losses, health.gradientNorms, health.steps));
    answer.tables.push_back(momentTable(health.moments));
    return answer;
}

}  // namespace shardscope::questions
