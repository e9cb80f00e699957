// `shardscope plan`: what a model needs before anything is trained.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/plan_tables.h"
#include "app/cli/run_flags.h"
#include "app/cli/shared_options.h"
#include "engine/run/config/run_option.h"
#include "engine/run/theory/device_peaks.h"
#include "profiler/planning/known_models.h"
#include "storage/model/size_limit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>

namespace shardscope::cli {
namespace {

struct PlanOptions {
    std::string parameters;
    std::string model;
    std::int64_t ranks = 8;
    std::string stateBytes = planning::textOf(planning::kMixedAdam);
    CLI::Option* givenState = nullptr;  ///< --state-bytes
    std::string memory;
    RunFlags flags;
    PlanTexts texts;
    bool json = false;
};

/// What changes memory or traffic; strategy and ranks are the plan's own.
bool matters(const run::RunOption& option) {
    constexpr std::array kKeys{std::string_view("batch"),
                               std::string_view("accumulate"),
                               std::string_view("precision"),
                               std::string_view("device"),
                               std::string_view("recompute_every"),
                               std::string_view("offload"),
                               std::string_view("prefetch"),
                               std::string_view("shard_ranks"),
                               std::string_view("vocabulary_pieces"),
                               std::string_view("bucket_mb")};
    return option.section == run::OptionSection::kModel ||
           option.section == run::OptionSection::kModelParts ||
           std::find(kKeys.begin(), kKeys.end(), option.key) != kKeys.end();
}

std::string knownNames() {
    std::vector<std::string_view> names;
    for (const planning::KnownModel& model : planning::knownModels()) names.push_back(model.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

/// A number of parameters has no shape that an option could change.
Result<void> refuseShape(const PlanOptions& options) {
    for (const run::RunOption& option : run::runOptions())
        if (options.flags.given(option.key))
            return failure(ErrorCode::kUsage,
                           fmt::format("{} changes nothing: without a shape that the engine trains "
                                       "a model is planned for by its number of parameters; leave "
                                       "it out",
                                       option.flag));
    return {};
}

/// A size, or a device's name.
Result<std::optional<Bytes>> memoryOf(const PlanOptions& options) {
    if (options.memory.empty()) return std::optional<Bytes>();
    if (const auto size = parseSize(options.memory)) return std::optional(*size);
    const auto device = theory::deviceCapacity(options.memory);
    if (device.value) return std::optional(Bytes{std::llround(device.value->bytes)});
    return failure(
        ErrorCode::kUsage,
        fmt::format("--memory: '{}' is neither a size, as 80GB, nor a device whose "
                    "memory is known: {}; known are {}",
                    options.memory, device.reason, fmt::join(theory::knownDevices(), ", ")));
}

/// By --parameters, or by a model that others have published.
Result<std::string> ofParameters(const PlanOptions& options, const planning::KnownModel* known) {
    if (auto possible = refuseShape(options); !possible) return failure(possible);
    const auto parameters =
        known != nullptr ? Result<double>(static_cast<double>(planning::parameterCount(*known)))
                         : planning::parseParameters(options.parameters);
    if (!parameters) return failure(parameters, "--parameters");
    const auto state = planning::parseStateBytes(options.stateBytes);
    if (!state) return failure(state, "--state-bytes");
    const auto memory = memoryOf(options);
    if (!memory) return failure(memory);
    const planning::ParameterPlanInput input{known != nullptr ? std::string(known->name) : "",
                                             *parameters, options.ranks, *state, *memory};
    return options.json ? planJson(input, options.texts) : planText(input, options.texts);
}

Result<std::string> ofModel(const PlanOptions& options) {
    if (options.givenState->count() > 0)
        return failure(
            ErrorCode::kUsage,
            "--state-bytes changes nothing: of a model with a shape the engine knows what "
            "it keeps; leave it out, or give --precision");
    planning::ModelPlanInput input;
    if (!options.model.empty())
        if (auto done = run::setModelPreset(input.config, options.model); !done)
            return failure(done.error().code,
                           fmt::format("{}; by the number of their parameters: {}",
                                       done.error().message, knownNames()));
    if (auto done = options.flags.apply(input.config); !done) return failure(done);
    if (options.ranks > planning::kMostPlannedRanks)
        return failure(ErrorCode::kUsage,
                       fmt::format("--ranks: a model's shape is planned for up to {} ranks; "
                                   "--parameters goes further",
                                   planning::kMostPlannedRanks));
    input.config.ranks = static_cast<std::int32_t>(options.ranks);
    // Whatever its strategy: a wrong size is told, not a table without rows.
    run::RunConfig checked = input.config;
    checked.strategy = options.ranks == 1 ? run::Strategy::kSingle : run::Strategy::kZero3;
    if (auto valid = run::validate(checked); !valid) return failure(valid);
    const auto memory = memoryOf(options);
    if (!memory) return failure(memory);
    input.memory = *memory;
    return options.json ? planJson(input, options.texts) : planText(input, options.texts);
}

int run(const PlanOptions& options) {
    const planning::KnownModel* const known = planning::findKnownModel(options.model);
    const bool byNumber = known != nullptr || !options.parameters.empty();
    const auto text = byNumber ? ofParameters(options, known) : ofModel(options);
    if (text) return printLast(*text);
    tellError(text.error().message);
    return exitStatus(text.error());
}

}  // namespace

Command addPlan(CLI::App& root) {
    auto options = std::make_shared<PlanOptions>();
    CLI::App* app = root.add_subcommand("plan", "say what a model needs, before a run");
    app->footer(
        "Of a model by its shape, named or given, by the engine's own theory; or of any model by\n"
        "the number of its parameters, then its state alone. Everything is estimated.\n\n"
        "Examples:\n"
        "  shardscope plan --model xl --ranks 8 --batch 4 --precision bf16 --device cuda "
        "--memory 80GB\n"
        "  shardscope plan --parameters 7e9 --ranks 8 --state-bytes 2+2+12\n"
        "  shardscope plan --model llama2-70b --ranks 64 --memory 80GB --explain");
    CLI::Option* model = app->add_option("--model", options->model,
                                         fmt::format("{}: {} [{}]; or, for its state alone: {}",
                                                     run::findRunOption("model.name")->help,
                                                     fmt::join(run::modelPresetNames(), ", "),
                                                     run::ModelConfig().name, knownNames()))
                             ->type_name("NAME")
                             ->group(toWord(run::OptionSection::kModel));
    app->add_option("--parameters", options->parameters,
                    "of a model without a shape: 7e9, 7B, 124M")
        ->type_name("NUMBER")
        ->excludes(model);
    options->givenState =
        app->add_option(
               "--state-bytes", options->stateBytes,
               fmt::format("of a model by its parameters: bytes of one, its gradient and its "
                           "optimizer state [{}]",
                           options->stateBytes))
            ->type_name("P+G+O");
    app->add_option("--ranks", options->ranks,
                    fmt::format("data parallel ranks, a device each [{}]", options->ranks))
        ->type_name("NUMBER")
        ->check(CLI::Range(std::int64_t{1}, planning::kMostRanks));
    app->add_option("--memory", options->memory, "of a device: 80GB, or its name: 'H100 SXM', H200")
        ->type_name("SIZE");
    options->flags.addTo(*app, matters);
    CLI::Option* markdown =
        app->add_flag("--markdown", options->texts.markdown, "print the table as Markdown");
    app->add_flag("--fits-on", options->texts.fitsOn,
                  "print on which devices it fits, by their data sheets");
    app->add_flag("--explain", options->texts.explain, "print the formulas and their sources too");
    addJson(*app, options->json, "shardscope.plan/1")->excludes(markdown);
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli
