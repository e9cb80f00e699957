#include "app/cli/plan_time_tables.h"

#include "app/cli/answer_text.h"
#include "profiler/questions/answer_rows.h"
#include "profiler/questions/plan_tables.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace shardscope::cli {
namespace {

using Json = nlohmann::ordered_json;
using planning::ModelPlanInput;
using planning::ProjectionRow;
using planning::Scaled;
using planning::StrategyPlan;

/// What was asked for, or what the plan recommends, or zero3.
run::Strategy projected(const ModelPlanInput& input, const std::vector<StrategyPlan>& plans) {
    if (input.strategy) return *input.strategy;
    for (const StrategyPlan& plan : plans)
        if (plan.recommended && plan.word != toWord(run::Strategy::kSingle))
            return *fromWord<run::Strategy>(plan.word);
    return run::Strategy::kZero3;
}

questions::Table projectionOf(const ModelPlanInput& input, const std::vector<StrategyPlan>& plans,
                              Scaled scaled, std::int32_t most) {
    run::RunConfig config = input.config;
    config.strategy = projected(input, plans);
    return questions::projectionTable(planning::projectModel(config, *input.times, scaled, most),
                                      scaled);
}

std::string sourcesText(const planning::PlanTimes& times, std::int32_t ranks) {
    std::string link = times.link ? times.link->source() : "not known, give --link-gb-per-s";
    if (times.link && times.linkReach > 0)
        link += fmt::format("; it joins the {} ranks of a host: for more give --link-gb-per-s",
                            times.linkReach);
    const std::string hosts =
        ranks > times.ranksOnHost
            ? fmt::format(" Hosts of {} rank{} each: --ranks-per-host changes that.",
                          times.ranksOnHost, times.ranksOnHost == 1 ? "" : "s")
            : "";
    return fmt::format("Time: {}; link: {}.{}\n", times.source, link, hosts);
}

/// Where rows end before what was asked for.
std::string whereItEnds(const ModelPlanInput& input, const questions::Table& table,
                        std::int32_t most) {
    const std::int64_t* last = table.rows.back().at(table.columnAt("ranks")).integer();
    if (last == nullptr || 2 * *last > most) return {};
    const planning::PlanTimes& times = *input.times;
    if (times.linkReach > 0 && 2 * *last > times.linkReach)
        return fmt::format(
            "\nEnds there: the link joins {} ranks; for more give "
            "--link-gb-per-s.\n",
            times.linkReach);
    return "\nEnds there: over more ranks the same model has less than a sequence or a part of a "
           "layer for each.\n";
}

}  // namespace

std::string moreTable(const questions::Table& table, bool markdown) {
    if (!markdown) return "\n" + tableText(table);
    return fmt::format("\n{}\n\n{}", table.title, tableMarkdown(table));
}

std::string timeText(const ModelPlanInput& input, const std::vector<StrategyPlan>& plans,
                     bool markdown) {
    if (!input.times) return {};
    const bool known = std::any_of(plans.begin(), plans.end(), [](const StrategyPlan& plan) {
        return plan.forecast.has_value();
    });
    const std::string sources = "\n" + sourcesText(*input.times, input.config.ranks);
    return known ? moreTable(questions::timeTable(plans), markdown) + sources : sources;
}

std::string projectionText(const ModelPlanInput& input, const std::vector<StrategyPlan>& plans,
                           std::int32_t most, bool markdown) {
    const auto weak = projectionOf(input, plans, Scaled::kWeak, most);
    if (weak.rows.empty()) return {};
    std::string text =
        fmt::format("\n{} over more ranks\n", entryOf(projected(input, plans))->name) +
        moreTable(weak, markdown);
    text += whereItEnds(input, weak, most);
    const auto strong = projectionOf(input, plans, Scaled::kStrong, most);
    if (strong.rows.size() < 2) return text;
    return text + moreTable(strong, markdown) + whereItEnds(input, strong, most);
}

void addTime(Json& row, const StrategyPlan& plan) {
    Json time = questions::rowsJson(questions::timeTable({plan})).front();
    time.erase("strategy");
    row.update(time);
}

Json projectionJson(const ModelPlanInput& input, const std::vector<StrategyPlan>& plans,
                    std::int32_t most) {
    return {{"strategy", toWord(projected(input, plans))},
            {"weak", questions::rowsJson(projectionOf(input, plans, Scaled::kWeak, most))},
            {"strong", questions::rowsJson(projectionOf(input, plans, Scaled::kStrong, most))}};
}

}  // namespace shardscope::cli
