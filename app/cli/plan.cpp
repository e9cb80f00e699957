// `shardscope plan`: what a model needs before anything is trained.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/plan_tables.h"
#include "app/cli/shared_options.h"
#include "storage/model/size_limit.h"

#include <memory>

namespace shardscope::cli {
namespace {

struct PlanOptions {
    std::string parameters;
    std::int64_t ranks = 1;
    std::string stateBytes = planning::textOf(planning::kMixedAdam);
    std::string memory;
    PlanTexts texts;
    bool json = false;
};

Result<planning::ParameterPlanInput> inputOf(const PlanOptions& options) {
    const auto parameters = planning::parseParameters(options.parameters);
    if (!parameters) return failure(parameters, "--parameters");
    const auto state = planning::parseStateBytes(options.stateBytes);
    if (!state) return failure(state, "--state-bytes");
    planning::ParameterPlanInput input{*parameters, options.ranks, *state, {}};
    if (options.memory.empty()) return input;
    const auto memory = parseSize(options.memory);
    if (!memory) return failure(memory, "--memory");
    input.memory = *memory;
    return input;
}

int run(const PlanOptions& options) {
    const auto input = inputOf(options);
    if (!input) {
        tellError(input.error().message);
        return exitStatus(input.error());
    }
    const auto plans = planning::planStrategies(*input);
    return printLast(options.json ? planJson(*input, plans)
                                  : planText(*input, plans, options.texts));
}

}  // namespace

Command addPlan(CLI::App& root) {
    auto options = std::make_shared<PlanOptions>();
    CLI::App* app = root.add_subcommand("plan", "say what a model needs, before a run");
    app->footer(
        "State of a model whose shape is not given: parameters, gradients and optimizer. What\n"
        "activations need is not in it; `record --dry-run` knows it of a model's shape.\n\n"
        "Examples:\n"
        "  shardscope plan --parameters 7e9 --ranks 8 --state-bytes 2+2+12\n"
        "  shardscope plan --parameters 70B --ranks 64 --memory 80GB --explain");
    app->add_option("--parameters", options->parameters, "of the model: 7e9, 7B, 124M")
        ->type_name("NUMBER")
        ->required();
    app->add_option("--ranks", options->ranks, "data parallel ranks, a device each")
        ->type_name("NUMBER")
        ->check(CLI::Range(std::int64_t{1}, planning::kMostRanks))
        ->capture_default_str();
    app->add_option("--state-bytes", options->stateBytes,
                    "bytes of a parameter, its gradient and its optimizer state")
        ->type_name("P+G+O")
        ->capture_default_str();
    app->add_option("--memory", options->memory, "of a device: 80GB, 141GB")->type_name("SIZE");
    CLI::Option* markdown =
        app->add_flag("--markdown", options->texts.markdown, "print the table as Markdown");
    app->add_flag("--explain", options->texts.explain, "print the formulas and their sources too");
    addJson(*app, options->json, "shardscope.plan/1")->excludes(markdown);
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli
