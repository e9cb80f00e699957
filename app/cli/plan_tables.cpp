#include "app/cli/plan_tables.h"

#include "app/cli/answer_text.h"
#include "app/cli/plan_time_tables.h"
#include "app/cli/report_table.h"
#include "engine/run/theory/theory.h"
#include "profiler/planning/fits_on.h"
#include "profiler/questions/answer_rows.h"
#include "profiler/questions/plan_tables.h"
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
using planning::StrategyPlan;

std::string fitsText(const StrategyPlan& plan) {
    if (!plan.fits) return "not known";
    return *plan.fits ? plan.recommended ? "yes, recommended" : "yes" : "no";
}

/// Peaks stand there where any is known.
bool hasPeaks(const std::vector<StrategyPlan>& plans) {
    return std::any_of(plans.begin(), plans.end(),
                       [](const StrategyPlan& plan) { return plan.peakBytesPerRank.has_value(); });
}

std::vector<std::string> header(bool peaks) {
    if (peaks)
        return {"strategy", "state per rank", "peak per rank", "sent per rank and step", "fits"};
    return {"strategy", "state per rank", "sent per rank and step", "fits"};
}

std::vector<std::string> rowOf(const StrategyPlan& plan, bool peaks) {
    std::vector<std::string> row{plan.name, decimalBytesText(plan.stateBytesPerRank)};
    if (peaks)
        row.push_back(plan.peakBytesPerRank ? decimalBytesText(*plan.peakBytesPerRank) : "n/a");
    row.push_back(decimalBytesText(plan.communicationBytesPerStep));
    row.push_back(fitsText(plan));
    return row;
}

std::string markdownRow(const std::vector<std::string>& cells) {
    return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string markdownTable(const std::vector<StrategyPlan>& plans) {
    const bool peaks = hasPeaks(plans);
    std::vector<std::string> columns = header(peaks);
    columns.emplace_back("why");
    std::string text = markdownRow(columns) +
                       (peaks ? "|---|---:|---:|---:|---|---|\n" : "|---|---:|---:|---|---|\n");
    for (const StrategyPlan& plan : plans) {
        std::vector<std::string> row = rowOf(plan, peaks);
        row.push_back(plan.reason);
        text += markdownRow(row);
    }
    return text;
}

std::string plainTable(const std::vector<StrategyPlan>& plans) {
    const bool peaks = hasPeaks(plans);
    TextTable table(header(peaks));
    for (const StrategyPlan& plan : plans) table.add(rowOf(plan, peaks));
    std::string text = table.text();
    for (const StrategyPlan& plan : plans)
        if (!plan.reason.empty()) text += fmt::format("{}: {}\n", plan.name, plan.reason);
    return text;
}

std::string tableOf(const std::vector<StrategyPlan>& plans, const PlanTexts& texts) {
    const bool known = std::any_of(plans.begin(), plans.end(),
                                   [](const StrategyPlan& plan) { return plan.fits.has_value(); });
    return (texts.markdown ? markdownTable(plans) : plainTable(plans)) +
           (known ? ""
                  : "Whether it fits: say how much memory a device has, as in --memory 80GB\n");
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
    "(Rajbhandari et al.,\narXiv 1910.02054). A GPU holds 1.4 GB besides for its context and "
    "libraries, measured on an H200.\n";

std::string parametersText(double parameters) {
    return countText(static_cast<std::uint64_t>(std::llround(parameters))) + " parameters";
}

std::string ranksText(std::int64_t ranks) {
    return fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s");
}

std::string firstLine(const ParameterPlanInput& input) {
    return fmt::format(
        "{}{} on {}, {} bytes each{}; state only, estimated\n\n",
        input.model.empty() ? "" : input.model + ", ", parametersText(input.parameters),
        ranksText(input.ranks), planning::textOf(input.state),
        input.memory ? fmt::format(", devices of {}, of which state may take {:.0f} %",
                                   sizeText(*input.memory), 100 * planning::kStateShare)
                     : "");
}

std::string firstLine(const ModelPlanInput& input) {
    const run::RunConfig& config = input.config;
    return fmt::format(
        "{}, {}, on {} in {}, {} sequences of {} tokens per rank in {}{}; estimated\n\n",
        config.model.name,
        parametersText(static_cast<double>(theory::parameterCount(config.model))),
        ranksText(config.ranks), toWord(config.precision), config.batch, config.model.context,
        config.accumulate == 1 ? "1 micro-step" : fmt::format("{} micro-steps", config.accumulate),
        input.memory ? ", devices of " + sizeText(*input.memory) : "");
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
           (texts.explain ? explanation(plan.input) : "");
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
    return text;
}

void addMore(Json& document, const ParameterPlan& plan, const std::vector<StrategyPlan>&,
             const PlanTexts& texts) {
    if (texts.divisions && plan.divisions) document["divisions"] = divisionsJson(*plan.divisions);
}

void addMore(Json& document, const ModelPlan& plan, const std::vector<StrategyPlan>& plans,
             const PlanTexts& texts) {
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
    return firstLine(plan.input) + tableOf(plans, texts) + moreText(plan, plans, texts) +
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
    return head.dump(2) + "\n";
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

}  // namespace shardscope::cli
