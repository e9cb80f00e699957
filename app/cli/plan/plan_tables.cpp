#include "app/cli/plan/plan_tables.h"

#include "app/cli/answers/answer_text.h"
#include "app/cli/console.h"
#include "engine/run/config/run_settings.h"
#include "engine/run/theory/theory.h"
#include "profiler/planning/fits_on.h"
#include "profiler/planning/model_parallel.h"
#include "profiler/questions/answer/answer_rows.h"
#include "profiler/questions/plan_tables.h"
#include "storage/model/plain_text.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace shardscope::cli {
namespace {

using Json = nlohmann::ordered_json;
using planning::ModelPlanInput;
using planning::ParameterPlanInput;
using planning::Scaled;
using planning::StrategyPlan;

/// What a recording says may stand in it.
std::string lineOf(const std::string& text, bool markdown) {
    return asLine(markdown ? markdownSentence(text) : text);
}

/// One behind another, after an empty line.
std::string moreTable(const questions::Table& table, bool markdown) {
    if (!markdown) return "\n" + tableText(table);
    return fmt::format("\n{}\n\n{}", table.title, tableMarkdown(table));
}

std::string tableOf(const std::vector<StrategyPlan>& plans, const PlanTexts& texts) {
    questions::Table table = questions::strategyTable(plans);
    std::string text;
    if (texts.markdown) {
        text = tableMarkdown(table);
    } else {
        // reasons are too long for a cell
        table.columns.back().shown = questions::Shown::kToScripts;
        text = tableText(table);
        for (const StrategyPlan& plan : plans)
            if (!plan.reason.empty()) text += asLine(plan.name + ": " + plan.reason);
    }
    const bool known = std::any_of(plans.begin(), plans.end(),
                                   [](const StrategyPlan& plan) { return plan.fits.has_value(); });
    return text + (known ? ""
                         : "Whether it fits: say how much memory a device has, as in --memory "
                           "80GB\n");
}

/// What was asked for, or what the plan recommends, or zero3.
run::Strategy projected(const ModelPlanInput& input, const std::vector<StrategyPlan>& plans) {
    if (input.strategy) return *input.strategy;
    for (const StrategyPlan& plan : plans)
        if (plan.recommended && plan.word != toWord(run::Strategy::kSingle))
            return *fromWord<run::Strategy>(plan.word);
    return run::Strategy::kZero3;
}

run::RunConfig projectedConfig(const ModelPlanInput& input,
                               const std::vector<StrategyPlan>& plans) {
    run::RunConfig config = input.config;
    config.strategy = projected(input, plans);
    return config;
}

questions::Table projectionOf(const ModelPlanInput& input, const std::vector<StrategyPlan>& plans,
                              Scaled scaled, std::int32_t most) {
    return questions::projectionTable(
        planning::projectModel(projectedConfig(input, plans), *input.times, scaled, most), scaled);
}

/// A projection and, where it ends before `most` ranks, why; empty: it has fewer than `least` rows.
std::string projectionText(const ModelPlanInput& input, const run::RunConfig& config, Scaled scaled,
                           std::int32_t most, std::size_t least, bool markdown) {
    const auto rows = planning::projectModel(config, *input.times, scaled, most);
    if (rows.size() < least) return {};
    const auto end = planning::endOf(rows, config, *input.times, most);
    const std::string above = questions::aboveLinear(rows, *input.times);
    return moreTable(questions::projectionTable(rows, scaled), markdown) +
           (above.empty() ? "" : "\n" + lineOf(above, markdown)) +
           (end.why.empty() ? ""
                            : fmt::format("\nEnds there: {}{}.\n", end.why,
                                          end.byLink ? "; give a link with --link-gb-per-s" : ""));
}

std::string sourcesText(const planning::PlanTimes& times, std::int32_t ranks, bool markdown) {
    std::string link = times.link ? times.link->source() : "unknown, give --link-gb-per-s";
    if (times.link && times.linkReach > 0)
        link += fmt::format("; it joins the {} ranks of a host: for more give --link-gb-per-s",
                            times.linkReach);
    const std::string hosts = ranks > times.ranksOnHost
                                  ? fmt::format(" Hosts of {} each: --ranks-per-host changes that.",
                                                counted(times.ranksOnHost, "rank"))
                                  : "";
    return lineOf(fmt::format("Time: {}; link: {}.{}", times.source, link, hosts), markdown);
}

/// A table of the plans that have a forecast, why others have none, and what it rests on.
std::string timeText(const ModelPlanInput& input, const std::vector<StrategyPlan>& plans,
                     bool markdown) {
    if (!input.times) return {};
    const bool known = std::any_of(plans.begin(), plans.end(), [](const StrategyPlan& plan) {
        return plan.forecast.has_value();
    });
    std::string text;
    if (!input.times->doubt.empty())
        text = "\n" + lineOf("Uncertain: " + input.times->doubt + ".", markdown);
    if (known) text += moreTable(questions::timeTable(plans), markdown);
    std::string unknown;
    for (const std::string& each : questions::timesUnknown(plans))
        unknown += lineOf(each, markdown);
    if (!unknown.empty())
        text += fmt::format("\n{}A link that --link-gb-per-s gives makes these known.\n", unknown);
    return text + "\n" + sourcesText(*input.times, input.config.ranks, markdown);
}

/// Tables up to `most` ranks, of the strategy that was asked for or is recommended: weak scaling,
/// and strong where ranks divide the batch. A sentence where the link is not known.
std::string projectionText(const ModelPlanInput& input, const std::vector<StrategyPlan>& plans,
                           std::int32_t most, bool markdown) {
    const run::RunConfig config = projectedConfig(input, plans);
    const std::string weak = projectionText(input, config, Scaled::kWeak, most, 1, markdown);
    if (weak.empty()) return {};
    return fmt::format("\n{} over more ranks\n", entryOf(config.strategy)->name) + weak +
           projectionText(input, config, Scaled::kStrong, most, 2, markdown);
}

/// Adds to a strategy's row what timeTable() says of it; all null without a forecast.
void addTime(Json& row, const StrategyPlan& plan) {
    Json time = questions::rowsJson(questions::timeTable({plan})).front();
    time.erase("strategy");
    row.update(time);
}

/// What times rest on; null where nothing says how long steps take.
Json timesJson(const ModelPlanInput& input) {
    if (!input.times) return nullptr;
    const planning::PlanTimes& times = *input.times;
    Json link = nullptr, error = nullptr;
    if (times.link) link = times.link->source();
    if (times.replayError) error = 100 * *times.replayError;
    Json document{{"source", times.source}, {"link", link}, {"replay_error_pct", error}};
    if (!times.doubt.empty()) document["doubt"] = times.doubt;
    return document;
}

/// {"strategy", "weak": [...], "strong": [...]}
Json projectionJson(const ModelPlanInput& input, const std::vector<StrategyPlan>& plans,
                    std::int32_t most) {
    return {{"strategy", toWord(projected(input, plans))},
            {"weak", questions::rowsJson(projectionOf(input, plans, Scaled::kWeak, most))},
            {"strong", questions::rowsJson(projectionOf(input, plans, Scaled::kStrong, most))}};
}

std::string percent(double ratio) {
    return fmt::format("{:+.1f} %", 100 * (ratio - 1));
}

std::string size(double bytes) {
    return bytesText(Bytes{std::llround(bytes)});
}

questions::Table divisionsOf(const DivisionInput& input) {
    return questions::divisionTable(
        input.only
            ? std::vector{planning::planDivision(input.run, *input.only)}
            : planning::planDivisions(input.run, input.ranks, input.ranksOnHost, input.memory),
        input.memory);
}

/// FLOPs by part of a model, and how others count them.
std::string flopsText(const run::ModelConfig& model, bool markdown) {
    return moreTable(questions::flopsTable(model), markdown) +
           moreTable(questions::flopsVariantTable(model), markdown);
}

Json flopsJson(const run::ModelConfig& model) {
    return {{"forward_per_token", questions::rowsJson(questions::flopsTable(model))},
            {"per_token", questions::rowsJson(questions::flopsVariantTable(model))}};
}

/// State by rules of thumb beside the exact figure.
std::string rulesOfThumbText(const run::RunConfig& config) {
    const run::RunConfig single = planning::overRanks(config, 1, run::Strategy::kSingle);
    const auto exact = static_cast<double>(theory::stateTheory(single).count);
    const auto parameters = static_cast<double>(theory::parameterCount(config.model));
    std::string text =
        fmt::format("\nState of all ranks together, exact: {}, {:.4g} B per parameter\n",
                    size(exact), exact / parameters);
    for (const planning::RuleOfThumb& rule : planning::kRulesOfThumb)
        text += fmt::format("rule of thumb, {:g} B per parameter: {}, {} ({}; {})\n",
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

/// What its columns are.
std::string divisionsExplained(const DivisionInput& input) {
    std::string text =
        "\nDivided by tensors (t), stages (p) and data (d): L layers of l parameters, a heads, s "
        "tokens, b sequences,\nm micro-batches, hidden size h\n";
    for (const questions::Column& column : divisionsOf(input).columns)
        if (*column.definition != '\0')
            text += fmt::format("{}: {}\n", column.title, column.definition);
    return text;
}

Json divisionsJson(const DivisionInput& input) {
    return questions::rowsJson(divisionsOf(input));
}

std::string explanation(const ParameterPlanInput& input) {
    std::string text = fmt::format(
        "\nN parameters, W ranks, and of each parameter p + g + o = {} bytes: parameters, "
        "gradients "
        "and optimizer\n(ZeRO, Rajbhandari et al., arXiv 1910.02054, figure 1 and section 7; rings "
        "send (W - 1) / W of what they sum or gather)\n",
        planning::textOf(input.state));
    for (const planning::Sharding sharding : kAll<planning::Sharding>) {
        const auto& words = *entryOf(sharding);
        text += fmt::format("{}: {} State {}, sent {}\n", words.name, words.definition,
                            words.memory, words.communication);
    }
    return text;
}

constexpr const char* kModelSources =
    "\nState, peak and traffic are the engine's own theory, which `report` holds against what was "
    "measured:\nengine/run/theory/memory_theory.h says what is held when, theory.h what is sent "
    "(Rajbhandari et al.,\narXiv 1910.02054). A GPU holds 1.3 GiB besides for its context and "
    "libraries, measured on an H200.\n";

std::string firstLine(const ParameterPlanInput& input) {
    return fmt::format(
        "{}{} on {}, {} bytes each{}; state only, estimated",
        input.model.empty() ? "" : input.model + ", ",
        counted(std::llround(input.parameters), "parameter"), counted(input.ranks, "rank"),
        planning::textOf(input.state),
        input.memory
            ? fmt::format(", devices of {}, of which state may take {:.0f} %",
                          questions::memoryText(*input.memory), 100 * planning::kStateShare)
            : "");
}

std::string firstLine(const ModelPlanInput& input) {
    const run::RunConfig& config = input.config;
    return fmt::format(
        "{}, {}, on {} in {}, {} of {} tokens per rank in {}{}; estimated",
        run::modelTitle(config.model), counted(theory::parameterCount(config.model), "parameter"),
        counted(config.ranks, "rank"), toWord(config.precision), counted(config.batch, "sequence"),
        config.model.context,
        config.accumulate == 1 ? "1 micro-step" : fmt::format("{} micro-steps", config.accumulate),
        input.memory ? ", devices of " + questions::memoryText(*input.memory) : "");
}

Json strategiesOf(const std::vector<StrategyPlan>& plans) {
    Json strategies = Json::array();
    for (const StrategyPlan& plan : plans) {
        Json row{{"name", plan.word},
                 {"state_bytes_per_rank", std::llround(plan.stateBytesPerRank)},
                 {"peak_bytes_per_rank", nullptr},
                 {"communication_bytes_per_step", std::llround(plan.communicationBytesPerStep)},
                 {"fits", nullptr},
                 {"recommended", plan.recommended},
                 {"reason", plan.reason}};
        if (plan.peakBytesPerRank)
            row["peak_bytes_per_rank"] = std::llround(*plan.peakBytesPerRank);
        if (plan.fits) row["fits"] = *plan.fits;
        addTime(row, plan);
        strategies.push_back(std::move(row));
    }
    return strategies;
}

std::string moreText(const ParameterPlan& plan, const std::vector<StrategyPlan>&,
                     const PlanTexts& texts) {
    return (texts.divisions && plan.divisions ? divisionsText(*plan.divisions, texts.markdown)
                                              : "") +
           (texts.explain ? explanation(plan.input) : "") +
           (texts.explain && texts.divisions && plan.divisions ? divisionsExplained(*plan.divisions)
                                                               : "");
}

std::string moreText(const ModelPlan& plan, const std::vector<StrategyPlan>& plans,
                     const PlanTexts& texts) {
    std::string text = timeText(plan.input, plans, texts.markdown);
    if (texts.mostRanks > 0)
        text += projectionText(plan.input, plans, texts.mostRanks, texts.markdown);
    if (texts.limits)
        text += moreTable(questions::limitsTable(planning::limitsOf(plan.input)), texts.markdown);
    if (texts.divisions) text += divisionsText(plan.divisions, texts.markdown);
    if (texts.flops) text += flopsText(plan.input.config.model, texts.markdown);
    if (texts.explain) text += rulesOfThumbText(plan.input.config) + kModelSources;
    if (texts.explain && texts.divisions) text += divisionsExplained(plan.divisions);
    return text;
}

void addMore(Json& document, const ParameterPlan& plan, const std::vector<StrategyPlan>&,
             const PlanTexts& texts) {
    if (texts.divisions && plan.divisions) document["divisions"] = divisionsJson(*plan.divisions);
}

void addMore(Json& document, const ModelPlan& plan, const std::vector<StrategyPlan>& plans,
             const PlanTexts& texts) {
    document["times"] = timesJson(plan.input);
    if (texts.mostRanks > 0)
        document["projection"] = projectionJson(plan.input, plans, texts.mostRanks);
    if (texts.divisions) document["divisions"] = divisionsJson(plan.divisions);
    if (texts.limits)
        document["limits"] =
            questions::rowsJson(questions::limitsTable(planning::limitsOf(plan.input)));
    if (texts.flops) document["flops"] = flopsJson(plan.input.config.model);
}

template <class Plan>
std::string textOf(const Plan& plan, const PlanTexts& texts) {
    const std::vector<StrategyPlan> plans = planning::plansOf(plan.input);
    return lineOf(firstLine(plan.input), texts.markdown) + '\n' + tableOf(plans, texts) +
           moreText(plan, plans, texts) +
           (texts.fitsOn
                ? moreTable(questions::fitsOnTable(planning::fitsOn(plan.input)), texts.markdown)
                : "");
}

template <class Plan>
std::string documentOf(Json head, const Plan& plan, const PlanTexts& texts) {
    const std::vector<StrategyPlan> plans = planning::plansOf(plan.input);
    head["strategies"] = strategiesOf(plans);
    addMore(head, plan, plans, texts);
    if (texts.fitsOn)
        head["fits_on"] = questions::rowsJson(questions::fitsOnTable(planning::fitsOn(plan.input)));
    return head.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string planText(const ParameterPlan& plan, const PlanTexts& texts) {
    return textOf(plan, texts);
}

std::string planText(const ModelPlan& plan, const PlanTexts& texts) {
    return textOf(plan, texts);
}

std::string planJson(const ParameterPlan& plan, const PlanTexts& texts) {
    return documentOf({{"schema", "shardscope.plan/1"},
                       {"parameters", std::llround(plan.input.parameters)},
                       {"ranks", plan.input.ranks},
                       {"state_bytes", planning::textOf(plan.input.state)}},
                      plan, texts);
}

std::string planJson(const ModelPlan& plan, const PlanTexts& texts) {
    return documentOf({{"schema", "shardscope.plan/1"},
                       {"parameters", theory::parameterCount(plan.input.config.model)},
                       {"ranks", plan.input.config.ranks},
                       {"model", plan.input.config.model.name}},
                      plan, texts);
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
