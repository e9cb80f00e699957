#include "app/cli/plan_more_tables.h"

#include "app/cli/plan_time_tables.h"
#include "app/cli/report_table.h"
#include "engine/run/theory/theory.h"
#include "profiler/planning/parallelisms.h"
#include "profiler/planning/rules_of_thumb.h"
#include "storage/model/size_limit.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

using Json = nlohmann::ordered_json;
using planning::DividedPlan;
using planning::Division;

std::string megaflops(double flops) {
    return fmt::format("{:.5g} MFLOP", flops * 1e-6);
}

std::string percent(double ratio) {
    return fmt::format("{:+.1f} %", 100 * (ratio - 1));
}

std::vector<std::pair<const char*, double>> partsOf(const run::ModelConfig& model) {
    const auto flops = theory::forwardFlopsPerToken(model, theory::AttentionCount::kCausal);
    return {{"queries, keys, values", flops.qkv},
            {"attention", flops.attention},
            {"projection", flops.projection},
            {"feed-forward", flops.feedForward},
            {"head", flops.head}};
}

std::string size(double bytes) {
    return sizeText(Bytes{std::llround(bytes)});
}

std::vector<DividedPlan> divisionsOf(const DivisionInput& input) {
    if (input.only) return {planning::planDivision(input.run, *input.only)};
    return planning::planDivisions(input.run, input.ranks, input.ranksOnHost, input.memory);
}

std::string fitsText(const DividedPlan& plan, const std::optional<Bytes>& memory) {
    if (!memory) return "not known";
    return plan.bytes() <= static_cast<double>(memory->count) ? "yes" : "no";
}

}  // namespace

std::string flopsText(const run::ModelConfig& model, bool markdown) {
    const auto parts = partsOf(model);
    double all = 0;
    for (const auto& [name, flops] : parts) all += flops;
    std::vector<std::vector<std::string>> rows{{"part", "forward, a token", "share"}};
    for (const auto& [name, flops] : parts)
        rows.push_back({name, megaflops(flops), shareText(flops, all)});
    std::vector<std::vector<std::string>> variants{
        {"counted as", "a token and step", "against exact", "what it counts"}};
    const double exact = theory::flopsPerToken(model, theory::FlopsVariant::kExact);
    for (const theory::FlopsVariant variant : kAll<theory::FlopsVariant>) {
        const double flops = theory::flopsPerToken(model, variant);
        variants.push_back(
            {toWord(variant), megaflops(flops), percent(flops / exact),
             fmt::format("{} ({})", entryOf(variant)->definition, entryOf(variant)->source)});
    }
    return "\nFLOPs of products by part, causal attention; backward takes twice as many\n\n" +
           rowsText(rows, markdown) + "\nAs others count them for MFU, forward and backward\n\n" +
           rowsText(variants, markdown);
}

Json flopsJson(const run::ModelConfig& model) {
    Json parts = Json::object(), variants = Json::object();
    for (const auto& [name, flops] : partsOf(model)) parts[name] = flops;
    for (const theory::FlopsVariant variant : kAll<theory::FlopsVariant>)
        variants[toWord(variant)] = theory::flopsPerToken(model, variant);
    return {{"forward_per_token", parts}, {"per_token", variants}};
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
    const auto plans = divisionsOf(input);
    if (plans.empty()) return {};
    std::vector<std::vector<std::string>> rows{{"division", "state per rank",
                                                "activations per rank", "sent: tensors", "stages",
                                                "data", "bubble", "fits"}};
    for (const DividedPlan& plan : plans)
        rows.push_back({plan.name, size(plan.stateBytes), size(plan.activationBytes),
                        size(plan.tensorTraffic), size(plan.pipelineTraffic),
                        size(plan.dataTraffic), shareText(plan.bubble, 1),
                        fitsText(plan, input.memory)});
    return fmt::format(
               "\nDivided by tensors and stages, as theory only (this engine does not train so); "
               "{} micro-batches of {} sequence{} of {} tokens, kept: {}\n\n",
               input.run.microBatches, input.run.microBatch, input.run.microBatch == 1 ? "" : "s",
               input.run.model.context, toWord(input.run.kept)) +
           rowsText(rows, markdown);
}

Json divisionsJson(const DivisionInput& input) {
    Json all = Json::array();
    for (const DividedPlan& plan : divisionsOf(input)) {
        Json row{{"name", plan.name},
                 {"tensor", plan.division.tensor},
                 {"pipeline", plan.division.pipeline},
                 {"data", plan.division.data},
                 {"sequence", plan.division.sequence},
                 {"state_bytes_per_rank", std::llround(plan.stateBytes)},
                 {"activation_bytes_per_rank", std::llround(plan.activationBytes)},
                 {"communication_bytes_per_step", std::llround(plan.traffic())},
                 {"bubble", plan.bubble},
                 {"fits", nullptr}};
        if (input.memory) row["fits"] = plan.bytes() <= static_cast<double>(input.memory->count);
        all.push_back(std::move(row));
    }
    return all;
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
