#include "app/cli/plan_tables.h"

#include "app/cli/report_table.h"
#include "storage/model/size_limit.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace shardscope::cli {
namespace {

using planning::ParameterPlanInput;
using planning::StateBytes;
using planning::StrategyPlan;

/// As papers write them: powers of 1000.
std::string gigabytes(double bytes) {
    return fmt::format("{:.5g} GB", bytes * 1e-9);
}

std::string fitsText(const StrategyPlan& plan) {
    if (!plan.fits) return "not known";
    return *plan.fits ? plan.recommended ? "yes, recommended" : "yes" : "no";
}

std::vector<std::string> rowOf(const StrategyPlan& plan) {
    return {entryOf(plan.sharding)->name, gigabytes(plan.stateBytesPerRank),
            gigabytes(plan.communicationBytesPerStep), fitsText(plan), plan.reason};
}

const std::vector<std::string>& header() {
    static const std::vector<std::string> all{"strategy", "state per rank",
                                              "sent per rank and step", "fits", "why"};
    return all;
}

std::string markdownRow(const std::vector<std::string>& cells) {
    return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string markdownTable(const std::vector<StrategyPlan>& plans) {
    std::string text = markdownRow(header()) + "|---|---:|---:|---|---|\n";
    for (const StrategyPlan& plan : plans) text += markdownRow(rowOf(plan));
    return text;
}

std::string plainTable(const std::vector<StrategyPlan>& plans) {
    std::vector<std::string> columns = header();
    columns.pop_back();
    TextTable table(columns);
    for (const StrategyPlan& plan : plans) {
        std::vector<std::string> row = rowOf(plan);
        row.pop_back();
        table.add(row);
    }
    std::string text = table.text();
    if (!plans.front().fits)
        return text + "Whether it fits: say how much memory a device has, as in --memory 80GB\n";
    for (const StrategyPlan& plan : plans)
        text += fmt::format("{}: {}\n", entryOf(plan.sharding)->name, plan.reason);
    return text;
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
        text += fmt::format("{}: {} state {}, sent {}\n", words.name, words.definition,
                            words.memory, words.communication);
    }
    return text;
}

std::string firstLine(const ParameterPlanInput& input) {
    return fmt::format("{} parameters on {} rank{}, {} bytes each{}; state only, estimated\n\n",
                       countText(static_cast<std::uint64_t>(std::llround(input.parameters))),
                       input.ranks, input.ranks == 1 ? "" : "s", planning::textOf(input.state),
                       input.memory
                           ? fmt::format(", devices of {}, of which state may take {:.0f} %",
                                         sizeText(*input.memory), 100 * planning::kStateShare)
                           : "");
}

}  // namespace

std::string planText(const ParameterPlanInput& input, const std::vector<StrategyPlan>& plans,
                     const PlanTexts& texts) {
    return firstLine(input) + (texts.markdown ? markdownTable(plans) : plainTable(plans)) +
           (texts.explain ? explanation(input) : "");
}

std::string planJson(const ParameterPlanInput& input, const std::vector<StrategyPlan>& plans) {
    nlohmann::ordered_json strategies = nlohmann::ordered_json::array();
    for (const StrategyPlan& plan : plans) {
        nlohmann::ordered_json row{
            {"name", toWord(plan.sharding)},
            {"state_bytes_per_rank", std::llround(plan.stateBytesPerRank)},
            {"peak_bytes_per_rank", nullptr},
            {"communication_bytes_per_step", std::llround(plan.communicationBytesPerStep)},
            {"fits", nullptr},
            {"recommended", plan.recommended},
            {"reason", plan.reason}};
        if (plan.fits) row["fits"] = *plan.fits;
        strategies.push_back(std::move(row));
    }
    return nlohmann::ordered_json{{"schema", "shardscope.plan/1"},
                                  {"parameters", std::llround(input.parameters)},
                                  {"ranks", input.ranks},
                                  {"state_bytes", planning::textOf(input.state)},
                                  {"strategies", strategies}}
               .dump(2) +
           "\n";
}

}  // namespace shardscope::cli
