#include "profiler/analysis/report/lacks.h"
#include "profiler/analysis/steps/training_health.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/questions.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <string>
#include <vector>

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
                  "The loss, norm, scale or time of the step; none where it is not finite."},
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

/// Points of one kind, of which `least` are needed to compare them.
struct Looked {
    const char* what;     ///< "losses"
    const char* unknown;  ///< "loss spikes"
    const char* missing;  ///< where there are none
    std::size_t count, least;
};

/// What was compared goes into `compared`, what could not be into the answer.
void judge(const Looked& looked, std::vector<std::string>& compared, Answer& answer) {
    if (looked.count >= looked.least) {
        compared.push_back(fmt::format("{} {}", looked.count, looked.what));
        return;
    }
    const std::string why = looked.count == 0
                                ? looked.missing
                                : fmt::format("too few {}, {} of the {} that are needed",
                                              looked.what, looked.count, looked.least);
    answer.unknown.push_back(fmt::format("{} unknown: {}", looked.unknown, why));
}

}  // namespace

Result<Answer> askTraining(const Asked& asked) {
    const auto ranks = asked.events();
    if (!ranks) return failure(ranks);
    using analysis::TrainingHealth;
    const TrainingHealth health = analysis::trainingHealth(asked.summary, *ranks);
    const bool part = asked.selection.cutsTime();
    const std::string none = part ? "none lie in the selection" : "none were recorded";
    Answer answer;
    std::vector<std::string> compared;
    const std::string noLoss =
        part ? none : analysis::withHow(none, asked.summary, analysis::Lack::kLoss);
    judge({"losses", "loss spikes", noLoss.c_str(), health.losses, TrainingHealth::kLeastPoints},
          compared, answer);
    const std::string noNorm =
        part ? none : analysis::withHow(none, asked.summary, analysis::Lack::kGradientNorm);
    judge({"gradient norms", "outlying gradient norms", noNorm.c_str(), health.gradientNorms,
           TrainingHealth::kLeastPoints},
          compared, answer);
    const std::string noSteps = analysis::withHow("no step was finished by all ranks",
                                                  asked.summary, analysis::Lack::kSteps);
    judge({"steady steps", "slow steps",
           part ? "no whole step of all ranks lies in the selection" : noSteps.c_str(),
           health.steps, TrainingHealth::kLeastSteps},
          compared, answer);
    const std::size_t events = health.moments.size();
    if (events > 0)
        answer.sentences.push_back(
            fmt::format("{} event{} of note.", events, events == 1 ? "" : "s"));
    else if (!compared.empty())
        answer.sentences.push_back(
            fmt::format("Nothing of note in {}.", fmt::join(compared, ", ")));
    else if (health.losses + health.gradientNorms > 0)
        answer.sentences.push_back(
            fmt::format("All of {} losses and {} gradient norms are numbers.", health.losses,
                        health.gradientNorms));
    answer.tables.push_back(momentTable(health.moments));
    return answer;
}

}  // namespace shardscope::questions
