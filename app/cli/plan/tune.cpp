// `shardscope tune`: the fastest of a grid of settings, by a few short runs.
#include "app/cli/answers/answer_text.h"
#include "app/cli/bench/measured_run.h"
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/hosts/run_hosts.h"
#include "app/cli/interruptible.h"
#include "app/cli/options.h"
#include "app/cli/plan/tune_run.h"
#include "app/cli/record/data_path.h"
#include "app/cli/record/run_environment.h"
#include "app/cli/record/run_flags.h"
#include "engine/run/config/run_file.h"
#include "engine/run/config/run_option.h"
#include "profiler/questions/answer/answer_rows.h"
#include "profiler/questions/plan_tables.h"
#include "storage/model/shell_word.h"
#include "storage/recording/file/output_file.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string_view>

namespace shardscope::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TuneOptions {
    std::string runFile, model, over = "strategy,prefetch,batch", budget, output;
    RunFlags flags;
    std::int32_t steps = 6, warmUp = 2;
    double share = 0.2;
    bool force = false, quiet = false, json = false, markdown = false, allowCommands = false;

    [[nodiscard]] bool mayRun(std::string_view key) const {
        return allowCommands || flags.given(std::string(key));
    }
};

bool mayBeGiven(const run::RunOption& option) {
    using S = run::OptionSection;
    return option.section == S::kModel || option.section == S::kModelParts ||
           option.section == S::kStrategy || option.section == S::kCommunication ||
           option.section == S::kDevice || option.key == std::string_view("batch") ||
           option.key == std::string_view("accumulate") || option.key == std::string_view("data") ||
           option.key == std::string_view("hosts") || option.key == std::string_view("ssh_command");
}

/// The host file that it names is checked too: the runs that are measured read it.
Result<run::RunConfig> readTrusted(const std::string& path, const run::RunConfig& defaults,
                                   const run::MayRun& mayRun) {
    auto config = run::readRunFile(path, defaults, mayRun);
    if (!config) return config;
    if (auto fine = checkHostFile(*config, mayRun, path, "a run file"); !fine) return failure(fine);
    return config;
}

Result<run::RunConfig> startOf(const TuneOptions& options) {
    run::RunConfig config;
    config.data = run::kSyntheticData;
    if (!options.runFile.empty()) {
        auto read = readTrusted(options.runFile, config,
                                [&](std::string_view key) { return options.mayRun(key); });
        if (!read) return failure(read);
        config = std::move(*read);
    }
    if (!options.model.empty())
        if (auto set = run::setModelPreset(config, options.model); !set) return failure(set);
    if (auto applied = options.flags.apply(config); !applied) return failure(applied);
    if (auto settled = settleData(config); !settled) return failure(settled);
    if (auto valid = run::validate(config); !valid) return failure(valid);
    return config;
}

std::string defaultFolder() {
    return fmt::format("tune-{:%Y%m%d-%H%M%S}", fmt::localtime(std::time(nullptr)));
}

Result<TuneRequest> requestOf(const TuneOptions& options) {
    TuneRequest request;
    auto start = startOf(options);
    if (!start) return failure(start);
    request.start = std::move(*start);
    auto axes = parseAxes(options.over, request.start);
    if (!axes) return failure(axes, "--over");
    request.axes = std::move(*axes);
    if (!options.budget.empty()) {
        const auto budget = parseBudget(options.budget);
        if (!budget) return failure(budget, "--budget");
        request.budget = *budget;
    }
    request.folder = options.output.empty() ? defaultFolder() : options.output;
    request.steps = options.steps;
    request.warmUp = options.warmUp;
    request.share = options.share;
    request.force = options.force;
    request.quiet = options.quiet;
    return request;
}

/// That of an earlier run may be replaced.
storage::OutputRequest bestFile(const std::string& folder) {
    return {(std::filesystem::path(folder) / "best.toml").string(), true, kSavedRunFile};
}

/// The run file of the best; its path, or why it could not be written.
Result<std::string> keepBest(const std::string& folder, const run::RunConfig& best) {
    const std::string path = bestFile(folder).path;
    if (auto written = storage::writeOutput(bestFile(folder), run::toToml(best)); !written)
        return failure(written, "the best settings stand above, but are not kept");
    return path;
}

/// `runFile`: of the best; empty: it could not be written.
std::string documentOf(const TuneResult& result, const std::string& runFile) {
    Json document = {{"schema", questions::kTuneSchema}};
    for (const questions::Figure& figure : result.answer.figures)
        if (const auto* whole = figure.value.integer()) document[figure.what.key] = *whole;
    for (const questions::Table& table : result.answer.tables)
        document[table.key] = questions::rowsJson(table);
    document["command"] = result.best ? Json(run::toCommandLine(*result.best)) : Json();
    document["run_file"] = runFile.empty() ? Json() : Json(runFile);
    document["sentences"] = result.answer.sentences;
    document["unknown"] = result.answer.unknown;
    document["could_not_tell"] = result.answer.unknown;  // its former name
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

int tellWrong(const Error& error) {
    tellError(error.message);
    return exitStatus(error);
}

int run(const TuneOptions& options) {
    std::signal(SIGPIPE, SIG_IGN);
    const auto request = requestOf(options);
    if (!request) return tellWrong(request.error());
    std::error_code made;
    std::filesystem::create_directories(request->folder, made);
    if (made)
        return tellWrong({ErrorCode::kFailure,
                          fmt::format("the folder {} cannot be made: {}; choose another with "
                                      "--output",
                                      request->folder, made.message())});
    // Before hours of work.
    if (auto fine = storage::settleOutput(bestFile(request->folder)); !fine)
        return tellWrong(fine.error());
    const InterruptGuard guard;
    const auto result = tuneRun(*request);
    if (!result)
        return tellWrong(
            {result.error().code, result.error().code == ErrorCode::kInterrupted
                                      ? result.error().message + "; no run had been measured"
                                      : result.error().message});
    const auto kept = keepBest(request->folder, *result->best);
    std::string text = options.json       ? documentOf(*result, kept.value_or(""))
                       : options.markdown ? answerMarkdown(result->answer)
                                          : answerText(result->answer, 0);
    if (kept && !options.json)
        text += fmt::format("\n{}\n`shardscope record {}{}` runs it.\n",
                            run::toCommandLine(*result->best), typedWord(*kept),
                            run::commandsOf(*result->best).empty() ? "" : " --allow-commands");
    const int status = printLast(text);
    if (!kept) return tellWrong(kept.error());
    if (!result->ended) return status;
    return tellWrong({result->ended->code,
                      fmt::format("{}; what was measured is kept: the same command with --output "
                                  "{} goes on from there",
                                  result->ended->message, typedWord(request->folder))});
}

}  // namespace

Command addTune(CLI::App& root) {
    const auto options = std::make_shared<TuneOptions>();
    CLI::App* app = addVerb(root, "tune", "find the fastest settings of a run");
    setFooter(
        *app,
        "A first short run says how fast ranks compute and what joins them; forecasts of the "
        "other\n"
        "settings rest on it, and what they promise is run. Settings that need more memory than "
        "is\n"
        "free are left out. Recordings stay in the folder: the same again goes on from there.\n\n"
        "Examples:\n"
        "  shardscope tune run.toml --over strategy,bucket-mb,prefetch,batch --budget 5m\n"
        "  shardscope tune --model shakespeare --ranks 2 --over strategy,batch=4:8:16:32");
    addOption(*app, "run-file", options->runFile, "TOML file of the run to tune [defaults]")
        .takes("FILE");
    addOption(*app, "--over", options->over,
              fmt::format("options to vary, some with values: batch=4:8:16 [{}]", options->over))
        .takes("LIST");
    addOption(*app, "--budget", options->budget,
              "time after which no new run is started: 90s, 5m, 1h")
        .takes("TIME");
    addOption(*app, "--share", options->share,
              fmt::format("of the grid that is run at most [{}]", options->share))
        .takes("X")
        .withinReal(0.01, 1);
    addOption(*app, "--steps", options->steps,
              fmt::format("measured steps per run [{}]", options->steps))
        .takes("NUMBER")
        .within(2, 1'000'000);
    addOption(*app, "--warm-up", options->warmUp,
              fmt::format("warm-up steps before them, not measured [{}]", options->warmUp))
        .takes("NUMBER")
        .within(0, 1'000'000);
    addOption(*app, "-o,--output", options->output,
              "folder of recordings and of best.toml [tune-DATE]")
        .takes("FOLDER");
    addAllowCommands(*app, options->allowCommands, "the run file");
    addForce(*app, options->force, "recordings of other settings in it");
    const Option markdown = addFlag(*app, "--markdown", options->markdown, "print Markdown");
    addJson(*app, options->json, questions::kTuneSchema).excludes(markdown);
    addQuiet(*app, options->quiet);
    addOption(
        *app, "--model", options->model,
        fmt::format("{} [{}]", run::findRunOption("model.name")->help, run::ModelConfig().name))
        .takes("NAME")
        .under(toWord(run::OptionSection::kModel));
    options->flags.addTo(*app, mayBeGiven);
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli
