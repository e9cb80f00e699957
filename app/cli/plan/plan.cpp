// `shardscope plan`: what a model needs before anything is trained.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/options.h"
#include "app/cli/plan/plan_options.h"
#include "app/cli/plan/plan_tables.h"

#include <memory>

namespace shardscope::cli {
namespace {

template <class Plan>
Result<std::string> planOutput(const Result<Plan>& plan, const PlanOptions& options) {
    if (!plan) return failure(plan);
    return options.json ? planJson(*plan, options.texts) : planText(*plan, options.texts);
}

int run(PlanOptions& options) {
    options.texts.divisions = options.texts.divisions || options.givesDivision();
    if (options.parallelisms) return printLast(parallelismsText());
    const planning::KnownModel* const known = planning::findKnownModel(options.model);
    const bool byNumber = known != nullptr || !options.parameters.empty();
    const auto text = byNumber ? planOutput(parameterPlan(options, known), options)
                               : planOutput(modelPlan(options), options);
    if (text) return printLast(*text);
    tellError(text.error().message);
    return exitStatus(text.error());
}

}  // namespace

Command addPlan(CLI::App& root) {
    auto options = std::make_shared<PlanOptions>();
    CLI::App* app = addVerb(root, "plan", "say what a model needs, before a run");
    setFooter(
        *app,
        "Of a model by its shape, named or given, by the engine's own theory; or of any model by\n"
        "the number of its parameters, then its state alone. Everything is estimated; how long\n"
        "steps take by what a recording measured, or by a device's data sheet.\n\n"
        "Examples:\n"
        "  shardscope plan --model xl --ranks 8 --batch 4 --precision bf16 --device cuda "
        "--memory 80GB\n"
        "  shardscope plan --parameters 7e9 --ranks 8 --state-bytes 2+2+12\n"
        "  shardscope plan --model llama2-70b --ranks 64 --memory 80GB --explain\n"
        "  shardscope plan --from run.sscope --ranks 16 --link-gb-per-s 1.25 --project 1024");
    options->addTo(*app);
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli
