#include "app/cli/plan_more_tables.h"

#include "app/cli/plan_time_tables.h"
#include "engine/run/theory/theory.h"
#include "profiler/planning/parallelisms.h"
#include "profiler/planning/rules_of_thumb.h"
#include "profiler/questions/answer_rows.h"
#include "profiler/questions/plan_tables.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <vector>

namespace shardscope::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string percent(double ratio) {
    return fmt::format("{:+.1f} %", 100 * (ratio - 1));
}

std::string size(double bytes) {
    return sizeText(Bytes{std::llround(bytes)});
}

questions::Table divisionsOf(const DivisionInput& input) {
    return questions::divisionTable(
        input.only
            ? std::vector{planning::planDivision(input.run, *input.only)}
            : planning::planDivisions(input.run, input.ranks, input.ranksOnHost, input.memory),
        input.memory);
}

}  // namespace

std::string flopsText(const run::ModelConfig& model, bool markdown) {
    return moreTable(questions::flopsTable(model), markdown) +
           moreTable(questions::flopsVariantTable(model), markdown);
}

Json flopsJson(const run::ModelConfig& model) {
    return {{"forward_per_token", questions::rowsJson(questions::flopsTable(model))},
            {"per_token", questions::rowsJson(questions::flopsVariantTable(model))}};
}

std::string rulesOfThumbText(const run::RunConfig& config) {
    const run::RunConfig single = planning::overRanks(config, 1, run::Strategy::kSingle);
    const auto exact = static_cast<double>(theory::stateTheory(single).count);
    const auto parameters = static_cast<double>(theory::parameterCount(config.model));
    std::string text =
        fmt::format("\nState of all ranks together, exact: {}, {:.4g} B a parameter\n", size(exact),
                    exact / parameters);
    for (const planning::RuleOfThumb& rule : planning::kRulesOfThumb)
        text += fmt::format("rule of thumb, {:g} B a parameter: {}, {} ({}; {})\n",
                            rule.bytesPerParameter, size(rule.bytesPerParameter * parameters),
                            percent(rule.bytesPerParameter * parameters / exact), rule.what,
                            rule.source);
    return text;
}

std::string divisionsText(const DivisionInput& input, bool markdown) {
    const questions::Table table = divisionsOf(input);
    if (table.rows.empty())
        return fmt::format(
            "\nDivided by tensors and stages: {} ranks divide neither the {} heads "
            "(by a power of two) nor the {} layers evenly\n",
            input.ranks, input.run.model.heads, input.run.model.layers);
    return moreTable(table, markdown) +
           fmt::format("{} micro-batch{} of {} sequence{} of {} tokens, kept: {}\n",
                       input.run.microBatches, input.run.microBatches == 1 ? "" : "es",
                       input.run.microBatch, input.run.microBatch == 1 ? "" : "s",
                       input.run.model.context, toWord(input.run.kept));
}

Json divisionsJson(const DivisionInput& input) {
    return questions::rowsJson(divisionsOf(input));
}

std::string parallelismsText() {
    std::string text;
    for (const planning::Parallelism each : kAll<planning::Parallelism>) {
        const planning::ParallelismWords& words = *entryOf(each);
        text += fmt::format("{}{}\n  divides: {}\n  sends:   {}\n  take it: {}\n\n{}\n  {}\n\n",
                            words.name, words.trained ? "" : " (planned for as theory only)",
                            words.divides, words.sends, words.when, words.picture, words.source);
    }
    text.pop_back();
    return text;
}

}  // namespace shardscope::cli
