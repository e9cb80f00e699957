#include "app/cli/plan/plan_options.h"

#include "app/cli/console.h"
#include "app/cli/options.h"
#include "app/cli/plan/plan_recordings.h"
#include "engine/launch/host_facts.h"
#include "engine/run/config/run_option.h"
#include "engine/run/config/run_rules.h"
#include "engine/run/theory/device_peaks.h"
#include "profiler/planning/calibration.h"
#include "profiler/planning/calibration_store.h"
#include "profiler/planning/plan_times.h"
#include "storage/model/size_limit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <string_view>
#include <utility>

namespace shardscope::cli {
namespace {

/// What changes memory, traffic or time; ranks are the plan's own.
bool matters(const run::RunOption& option) {
    constexpr std::array kKeys{std::string_view("strategy"),
                               std::string_view("batch"),
                               std::string_view("accumulate"),
                               std::string_view("precision"),
                               std::string_view("device"),
                               std::string_view("threads"),
                               std::string_view("recompute_every"),
                               std::string_view("offload"),
                               std::string_view("prefetch"),
                               std::string_view("reshard_after_forward"),
                               std::string_view("keep_gathered"),
                               std::string_view("shard_ranks"),
                               std::string_view("vocabulary_pieces"),
                               std::string_view("bucket_mb"),
                               std::string_view("link_latency_us"),
                               std::string_view("link_gb_per_s")};
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
    const auto& texts = options.texts;
    const char* const only = texts.limits          ? "--limits"
                             : texts.flops         ? "--flops"
                             : texts.fitsOn        ? "--fits-on"
                             : texts.mostRanks > 0 ? "--project"
                                                   : nullptr;
    if (only != nullptr)
        return failure(ErrorCode::kUsage,
                       fmt::format("{} changes nothing: it is of models with a shape that the "
                                   "engine trains; leave it out",
                                   only));
    if (!options.from.empty())
        return failure(ErrorCode::kUsage,
                       "--from changes nothing: how long steps take is known of models with a "
                       "shape that the engine trains; leave it out");
    return {};
}

/// A size, or a device's name.
Result<std::optional<Bytes>> memoryOf(const PlanOptions& options) {
    if (options.memory.empty()) return std::optional<Bytes>();
    if (const auto size = parseSize(options.memory)) {
        if (size->count > 0) return std::optional(*size);
        return failure(ErrorCode::kUsage,
                       fmt::format("--memory {}: a device has some; give a size, as 80GB, or its "
                                   "name",
                                   options.memory));
    }
    const auto device = theory::deviceCapacity(options.memory);
    if (device.value) return std::optional(Bytes{std::llround(device.value->bytes)});
    return failure(
        ErrorCode::kUsage,
        fmt::format("--memory: '{}' is neither a size, as 80GB, nor a device whose "
                    "memory is known: {}; known are {}",
                    options.memory, device.reason, fmt::join(theory::knownDevices(), ", ")));
}

/// Of this host; one that cannot be read is said and not used.
std::optional<planning::PlanTimes> calibratedTimes(const run::RunConfig& config) {
    const auto found = planning::findCalibration(launch::hostFacts().name, run::Device::kCpu);
    if (!found) tellError(found.error().message);
    if (!found || !*found) return std::nullopt;
    return planning::timesOfCalibration(**found, config, std::time(nullptr));
}

Result<void> setModel(const PlanOptions& options, run::RunConfig& config) {
    if (options.model.empty()) return {};
    if (auto done = run::setModelPreset(config, options.model); !done)
        return failure(done.error().code, fmt::format("{}; by the number of their parameters: {}",
                                                      done.error().message, knownNames()));
    return {};
}

Result<void> setRanks(const PlanOptions& options, run::RunConfig& config) {
    if (!options.from.empty() && !options.givenRanks.given()) return {};
    if (options.ranks > planning::kMostPlannedRanks)
        return failure(ErrorCode::kUsage,
                       fmt::format("--ranks: a model's shape is planned for up to {} ranks; "
                                   "--parameters goes further",
                                   planning::kMostPlannedRanks));
    config.ranks = static_cast<std::int32_t>(options.ranks);
    return {};
}

/// Whatever its strategy: a wrong size is an error, not a table without rows.
Result<void> check(const PlanOptions& options, const run::RunConfig& config) {
    if (options.flags.given("strategy")) return run::validate(config);
    return run::validate(planning::overRanks(config, config.ranks, run::Strategy::kZero3));
}

/// `run` has what the model says of itself.
Result<DivisionInput> divisionsOf(const PlanOptions& options, planning::DividedRun run,
                                  const std::optional<Bytes>& memory, bool ownBatch) {
    DivisionInput input;
    input.ranks = options.ranks;
    input.memory = memory;
    if (options.ranksPerHost > 0) input.ranksOnHost = options.ranksPerHost;
    if (!ownBatch || options.givenMicroBatch.given()) run.microBatch = options.microBatch;
    if (!ownBatch || options.givenMicroBatches.given()) run.microBatches = options.microBatches;
    if (!ownBatch || options.givenKept.given()) run.kept = *fromWord<planning::Kept>(options.kept);
    run.dropout = options.dropout;
    input.run = run;
    if (!options.givenTensor.given() && !options.givenPipeline.given()) return input;
    planning::Division only = options.division;
    if (const std::string why = planning::whyIndivisible(run.model, only); !why.empty())
        return failure(ErrorCode::kUsage, why);
    const std::int64_t divided = only.tensor * only.pipeline;
    if (options.ranks % divided != 0)
        return failure(
            ErrorCode::kUsage,
            fmt::format("{} ranks are not divided by --tensor {} x --pipeline {}; choose "
                        "a multiple of {} for --ranks",
                        options.ranks, only.tensor, only.pipeline, divided));
    only.data = options.ranks / divided;
    input.only = only;
    return input;
}

void addDivisions(CLI::App& app, PlanOptions& options) {
    const std::string group = "Divided by tensors and stages, as theory";
    addFlag(app, "--divide", options.texts.divisions,
            "print what ranks hold and send where the model itself is divided")
        .under(group);
    options.givenTensor = addOption(app, "--tensor", options.division.tensor,
                                    "ranks that divide each product [what fits]")
                              .takes("NUMBER")
                              .within(1, planning::kMostRanks)
                              .under(group);
    options.givenPipeline = addOption(app, "--pipeline", options.division.pipeline,
                                      "stages that divide the layers [what fits]")
                                .takes("NUMBER")
                                .within(1, planning::kMostRanks)
                                .under(group);
    options.givenSequence = addFlag(app, "--sequence", options.division.sequence,
                                    "with --tensor: divide norms and inputs by tokens")
                                .under(group);
    options.givenMicroBatch =
        addOption(app, "--micro-batch", options.microBatch,
                  fmt::format("sequences of a micro-batch [{}, or --batch]", options.microBatch))
            .takes("NUMBER")
            .within(1, planning::kMostRanks)
            .under(group);
    options.givenMicroBatches =
        addOption(app, "--micro-batches", options.microBatches,
                  fmt::format("of a step and data parallel rank [{}, or --accumulate]",
                              options.microBatches))
            .takes("NUMBER")
            .within(1, planning::kMostRanks)
            .under(group);
    options.givenKept = addOption(app, "--kept", options.kept,
                                  fmt::format("what is kept for backward: all, no scores (as "
                                              "FlashAttention does), input [{}]",
                                              options.kept))
                            .oneOf(wordVector<planning::Kept>())
                            .offers("WORD", wordVector<planning::Kept>())
                            .under(group);
    options.givenDropout =
        addFlag(app, "--dropout", options.dropout, "keep its masks").under(group);
}

}  // namespace

bool PlanOptions::givesDivision() const {
    return givenTensor.given() || givenPipeline.given() || givenKept.given() ||
           givenMicroBatch.given() || givenMicroBatches.given() || givenSequence.given() ||
           givenDropout.given();
}

void PlanOptions::addTo(CLI::App& app) {
    const Option named = addOption(app, "--model", model,
                                   fmt::format("{}: {} [{}]; or, for its state alone: {}",
                                               run::findRunOption("model.name")->help,
                                               fmt::join(run::modelPresetNames(), ", "),
                                               run::ModelConfig().name, knownNames()))
                             .takes("NAME")
                             .under(toWord(run::OptionSection::kModel));
    addOption(app, "--parameters", parameters, "of a model without a shape: 7e9, 7B, 124M")
        .takes("NUMBER")
        .excludes(named);
    givenState = addOption(app, "--state-bytes", stateBytes,
                           fmt::format("of a model by its parameters: bytes of one, its "
                                       "gradient and its optimizer state [{}]",
                                       stateBytes))
                     .takes("P+G+O");
    givenRanks =
        addOption(app, "--ranks", ranks,
                  fmt::format("data parallel ranks, a device each [{}, or those of --from]", ranks))
            .takes("NUMBER")
            .within(1, planning::kMostRanks);
    addOption(app, "--ranks-per-host", ranksPerHost,
              "that share a host and its cores [as recorded]")
        .takes("NUMBER")
        .within(1, planning::kMostPlannedRanks);
    addOption(app, "--memory", memory, "of a device: 80GB, or its name: 'H100 SXM', H200")
        .takes("SIZE");
    addOption(app, "--from", from,
              "recordings that give compute speed and link; several with commas")
        .separatedBy(',')
        .takes("FILE");
    givenUtilisation =
        addOption(app, "--utilisation", utilisation,
                  fmt::format("of the peak of the device that --memory names, what training "
                              "reaches [{}]",
                              utilisation))
            .takes("X")
            .withinReal(0.01, 1);
    flags.addTo(app, matters);
    const Option markdown = addFlag(app, "--markdown", texts.markdown, "print tables as Markdown");
    addFlag(app, "--fits-on", texts.fitsOn, "print on which devices it fits, by their data sheets");
    addOption(app, "--project", texts.mostRanks,
              "print how it scales from one rank to so many, powers of two; with --from or a "
              "device's name")
        .takes("NUMBER")
        .within(1, planning::kMostPlannedRanks);
    addFlag(app, "--limits", texts.limits,
            "print the largest batch and context and the fewest ranks that fit in --memory");
    addFlag(app, "--flops", texts.flops, "print FLOPs by part, and as others count them");
    const Option explained =
        addFlag(app, "--parallelisms", parallelisms,
                "explain data, tensor, sequence, pipeline, expert parallelism and ZeRO")
            .excludes(markdown);
    addDivisions(app, *this);
    addFlag(app, "--explain", texts.explain, "print the formulas and their sources too");
    addJson(app, json, "shardscope.plan/1").excludes(markdown).excludes(explained);
}

Result<ParameterPlan> parameterPlan(const PlanOptions& options, const planning::KnownModel* known) {
    if (auto possible = refuseShape(options); !possible) return failure(possible);
    const auto parameters =
        known != nullptr ? Result<double>(static_cast<double>(planning::parameterCount(*known)))
                         : planning::parseParameters(options.parameters);
    if (!parameters) return failure(parameters, "--parameters");
    const auto state = planning::parseStateBytes(options.stateBytes);
    if (!state) return failure(state, "--state-bytes");
    const auto memory = memoryOf(options);
    if (!memory) return failure(memory);
    ParameterPlan plan;
    plan.input = {known != nullptr ? std::string(known->name) : "", *parameters, options.ranks,
                  *state, *memory};
    if (known == nullptr) {
        if (options.texts.divisions)
            return failure(ErrorCode::kUsage,
                           "--divide needs a model's shape: heads, layers and widths are what is "
                           "divided; give --model");
        return plan;
    }
    planning::DividedRun run;
    run.model = *known;
    run.state = *state;
    auto divisions = divisionsOf(options, run, *memory, false);
    if (!divisions) return failure(divisions);
    plan.divisions = *divisions;
    return plan;
}

namespace {

/// What one kind of device took says nothing of another.
Result<void> checkRecorded(const PlanOptions& options, const planning::ModelPlanInput& input) {
    if (!input.times) return {};
    const run::Device recorded = input.times->computing.front().config.device;
    if (recorded == input.config.device) return {};
    return failure(
        ErrorCode::kUsage,
        fmt::format("--from {}: its ranks computed on {}, which says nothing of how "
                    "long {} takes; leave out --from or --device",
                    options.from.front(), toWord(recorded), toWord(input.config.device)));
}

Result<planning::ModelPlanInput> modelInput(const PlanOptions& options) {
    if (options.givenState.given())
        return failure(
            ErrorCode::kUsage,
            "--state-bytes changes nothing: of a model with a shape the engine knows what "
            "it keeps; leave it out, or give --precision");
    planning::ModelPlanInput input;
    if (!options.from.empty()) {
        auto read = readPlanRecordings(options.from);
        if (!read) return failure(read);
        input.config = std::move(read->config);
        for (const std::string& why : read->untimed)
            tellError(why + "; what follows says nothing of time");
        input.times = std::move(read->times);
    }
    input.config.data = run::kSyntheticData;  // any vocabulary will do
    if (auto done = setModel(options, input.config); !done) return failure(done);
    if (auto done = options.flags.apply(input.config); !done) return failure(done);
    if (options.flags.given("strategy")) input.strategy = input.config.strategy;
    if (auto done = setRanks(options, input.config); !done) return failure(done);
    if (auto fits = checkRecorded(options, input); !fits) return failure(fits);
    // Before the link is taken out of it.
    if (auto within = run::checkRanges(input.config); !within) return failure(within);
    if (options.flags.given("link_latency_us") && input.config.linkGigabytesPerSecond <= 0)
        return failure(ErrorCode::kUsage,
                       "--link-latency-us says nothing of a link without its bandwidth; give "
                       "--link-gb-per-s too");
    const auto link = planning::takeGivenLink(input.config);
    if (auto valid = check(options, input.config); !valid) return failure(valid);
    const auto memory = memoryOf(options);
    if (!memory) return failure(memory);
    input.memory = *memory;
    if (options.texts.limits && !*memory)
        return failure(ErrorCode::kUsage,
                       "--limits: say how much memory a device has, as in --memory 80GB");
    const bool recorded = input.times.has_value();
    if (!recorded && *memory)
        input.times = planning::timesOfDevice(options.memory, input.config, options.utilisation);
    if (options.givenUtilisation.given() && (recorded || !input.times))
        return failure(ErrorCode::kUsage,
                       "--utilisation changes nothing: it is of the data sheet of the device that "
                       "--memory names, where no recording says how fast a rank computes; leave it "
                       "out");
    if (!input.times && input.config.device == run::Device::kCpu)
        input.times = calibratedTimes(input.config);
    if (!input.times) {
        if (options.texts.mostRanks > 0 || link)
            return failure(ErrorCode::kUsage,
                           "nothing says how fast a rank computes: give a recording of this model "
                           "or a smaller one with --from, or the device's name with --memory, or "
                           "measure this machine with `shardscope calibrate`");
        return input;
    }
    if (link) {
        input.times->link = link;
        input.times->linkReach = 0;
    }
    if (options.ranksPerHost > 0) planning::setRanksOnHost(*input.times, options.ranksPerHost);
    return input;
}

}  // namespace

Result<ModelPlan> modelPlan(const PlanOptions& options) {
    auto input = modelInput(options);
    if (!input) return failure(input);
    PlanOptions own = options;
    own.ranks = input->config.ranks;
    auto divisions = divisionsOf(own, planning::dividedRun(input->config), input->memory, true);
    if (!divisions) return failure(divisions);
    if (planning::planModel(*input).empty()) {
        const auto valid = run::validate(input->config);
        return failure(ErrorCode::kUsage, valid ? "no strategy can be planned with these settings"
                                                : valid.error().message);
    }
    return ModelPlan{std::move(*input), *divisions};
}

}  // namespace shardscope::cli
