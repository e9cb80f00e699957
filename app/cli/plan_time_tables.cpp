#include "app/cli/plan_time_tables.h"

#include "app/cli/report_table.h"
#include "engine/run/theory/theory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace shardscope::cli {
namespace {

using Json = nlohmann::ordered_json;
using planning::Forecast;
using planning::ModelPlanInput;
using planning::ProjectionRow;
using planning::Scaled;
using planning::StrategyPlan;

using Rows = std::vector<std::vector<std::string>>;

std::string time(Duration duration) {
    return durationText(duration.ns);
}

/// Of a rank whose thread waits no time to speak of, the link does not matter.
std::string boundBy(const Forecast& forecast) {
    return forecast.communicationBound() ? "communication" : "compute";
}

std::string countOf(double count) {
    return countText(static_cast<std::uint64_t>(std::llround(count)));
}

std::vector<std::string> timeRow(const StrategyPlan& plan) {
    if (!plan.forecast) return {plan.name, "not known", "", "", "", "", ""};
    const Forecast& made = *plan.forecast;
    return {plan.name,
            time(made.step.time),
            fmt::format("{} to {}", time(made.low), time(made.high)),
            countOf(made.tokensPerSecond),
            shareText(made.step.waiting.seconds(), made.step.time.seconds()),
            boundBy(made),
            plan.tippingTokens ? countOf(*plan.tippingTokens) : "any"};
}

bool hasTimes(const std::vector<StrategyPlan>& plans) {
    return std::any_of(plans.begin(), plans.end(),
                       [](const StrategyPlan& plan) { return plan.forecast.has_value(); });
}

/// What was asked for, or what the plan recommends, or the first.
run::Strategy projected(const ModelPlanInput& input, const std::vector<StrategyPlan>& plans) {
    if (input.strategy) return *input.strategy;
    for (const StrategyPlan& plan : plans)
        if (plan.recommended && plan.word != toWord(run::Strategy::kSingle))
            return *fromWord<run::Strategy>(plan.word);
    return run::Strategy::kZero3;
}

std::vector<ProjectionRow> rowsOf(const ModelPlanInput& input,
                                  const std::vector<StrategyPlan>& plans, Scaled scaled,
                                  std::int32_t most) {
    run::RunConfig config = input.config;
    config.strategy = projected(input, plans);
    return planning::projectModel(config, *input.times, scaled, most);
}

Rows cellsOf(const std::vector<ProjectionRow>& rows) {
    Rows cells{{"ranks", "step", "range", "tokens/s", "efficiency", "waiting"}};
    for (const ProjectionRow& row : rows) {
        const Forecast& made = row.forecast;
        cells.push_back({countOf(row.ranks), time(made.step.time),
                         fmt::format("{} to {}", time(made.low), time(made.high)),
                         countOf(made.tokensPerSecond), shareText(row.efficiency, 1),
                         shareText(made.step.waiting.seconds(), made.step.time.seconds())});
    }
    return cells;
}

Json jsonOf(const std::vector<ProjectionRow>& rows) {
    Json all = Json::array();
    for (const ProjectionRow& row : rows)
        all.push_back({{"ranks", row.ranks},
                       {"step_seconds", row.forecast.step.time.seconds()},
                       {"step_seconds_low", row.forecast.low.seconds()},
                       {"step_seconds_high", row.forecast.high.seconds()},
                       {"tokens_per_s", row.forecast.tokensPerSecond},
                       {"efficiency", row.efficiency},
                       {"waiting_share", row.forecast.waitingShare()}});
    return all;
}

std::string sourcesText(const planning::PlanTimes& times) {
    std::string link = times.link ? times.link->source() : "not known, give --link-gb-per-s";
    if (times.link && times.linkReach > 0)
        link += fmt::format("; it joins the {} ranks of a host: for more give --link-gb-per-s",
                            times.linkReach);
    return fmt::format("Time: {}; link: {}.\n", times.source, link);
}

}  // namespace

std::string rowsText(const Rows& rows, bool markdown) {
    if (!markdown) {
        TextTable table(rows.front());
        for (std::size_t i = 1; i < rows.size(); ++i) table.add(rows[i]);
        return table.text();
    }
    std::string text;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        text += fmt::format("| {} |\n", fmt::join(rows[i], " | "));
        if (i > 0) continue;
        text += "|---";
        for (std::size_t k = 1; k < rows[0].size(); ++k) text += "|---:";
        text += "|\n";
    }
    return text;
}

std::string timeText(const ModelPlanInput& input, const std::vector<StrategyPlan>& plans,
                     bool markdown) {
    if (!input.times) return {};
    Rows rows{{"strategy", "step", "range", "tokens/s", "waiting", "bound by",
               "compute-bound from tokens per rank"}};
    for (const StrategyPlan& plan : plans) rows.push_back(timeRow(plan));
    const std::string sources = sourcesText(*input.times);
    if (!hasTimes(plans)) return "\n" + sources;
    return "\nTime of a step, estimated (waiting: communication that nothing hides)\n\n" +
           rowsText(rows, markdown) + (markdown ? "\n" : "") + sources;
}

std::string projectionText(const ModelPlanInput& input, const std::vector<StrategyPlan>& plans,
                           std::int32_t most, bool markdown) {
    const auto weak = rowsOf(input, plans, Scaled::kWeak, most);
    if (weak.empty()) return {};
    const char* name = entryOf(projected(input, plans))->name;
    std::string text = fmt::format(
        "\n{} from 1 to {} ranks, each with a batch of {} (weak scaling), estimated\n\n", name,
        weak.back().ranks, input.config.batch);
    text += rowsText(cellsOf(weak), markdown);
    const auto strong = rowsOf(input, plans, Scaled::kStrong, most);
    if (strong.size() < 2) return text;
    return text +
           fmt::format("\nAll together with a batch of {} (strong scaling), estimated\n\n",
                       input.config.batch * input.config.ranks) +
           rowsText(cellsOf(strong), markdown);
}

void addTime(Json& row, const StrategyPlan& plan) {
    for (const char* key : {"step_seconds", "step_seconds_low", "step_seconds_high", "tokens_per_s",
                            "waiting_share", "bound_by", "balance_tokens"})
        row[key] = nullptr;
    if (!plan.forecast) return;
    const Forecast& made = *plan.forecast;
    row["step_seconds"] = made.step.time.seconds();
    row["step_seconds_low"] = made.low.seconds();
    row["step_seconds_high"] = made.high.seconds();
    row["tokens_per_s"] = made.tokensPerSecond;
    row["waiting_share"] = made.waitingShare();
    row["bound_by"] = boundBy(made);
    if (plan.tippingTokens) row["balance_tokens"] = *plan.tippingTokens;
}

Json projectionJson(const ModelPlanInput& input, const std::vector<StrategyPlan>& plans,
                    std::int32_t most) {
    return {{"strategy", toWord(projected(input, plans))},
            {"weak", jsonOf(rowsOf(input, plans, Scaled::kWeak, most))},
            {"strong", jsonOf(rowsOf(input, plans, Scaled::kStrong, most))}};
}

}  // namespace shardscope::cli
