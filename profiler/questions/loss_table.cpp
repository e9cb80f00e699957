#include "profiler/questions/loss_table.h"

#include "profiler/analysis/difference.h"
#include "profiler/analysis/training_health.h"
#include "profiler/questions/cells.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace shardscope::questions {
namespace {

using analysis::LossCurves;
using analysis::LossPair;

}  // namespace

std::string lossSentence(const LossCurves& curves) {
    const std::string steps = fmt::format("the {} steps that both have", curves.steps.size());
    if (!curves.differs) return "Losses are equal to the last digit in " + steps + ".";
    std::string from = fmt::format("Losses differ from step {} on, by {:.4g} at most",
                                   curves.differs->value, curves.largest);
    if (!curves.noise && !curves.apart) return from + ".";
    const std::string noise =
        curves.noise ? fmt::format(" (noise of a step's difference is {:.4g})", *curves.noise) : "";
    if (!curves.apart) return from + " and never beyond noise" + noise + ".";
    return fmt::format("{}, and beyond noise first at step {}{}.", from, curves.apart->value,
                       noise);
}

void addLossCurves(const RecordingSummary& first, const RecordingSummary& second, Answer& answer) {
    const LossCurves curves = analysis::lossCurves(first, second);
    if (curves.steps.empty()) {
        answer.unknown.emplace_back(
            "how losses differ is unknown: there is no step whose loss both recorded");
        return;
    }
    answer.sentences.push_back(lossSentence(curves));
    if (!curves.noise && curves.differs)
        answer.unknown.push_back(
            fmt::format("whether losses differ beyond noise is unknown: it takes {} steps "
                        "that both have",
                        analysis::kLeastSamples));
    Table table{"losses",
                "Losses, step by step",
                {{"step", "step"},
                 {"first", "first"},
                 {"second", "second"},
                 {"difference", "difference", Unit::kNone, "Second - first."}},
                {}};
    for (const LossPair& pair : curves.steps)
        table.rows.push_back(
            {stepCell(pair.step), cell(pair.first), cell(pair.second), cell(pair.difference())});
    answer.tables.push_back(std::move(table));
}

}  // namespace shardscope::questions
