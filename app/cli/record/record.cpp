// `shardscope record`: trains, and writes everything the ranks say into one recording.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/hosts/launched_tasks.h"
#include "app/cli/hosts/run_hosts.h"
#include "app/cli/options.h"
#include "app/cli/record/data_path.h"
#include "app/cli/record/record_modes.h"
#include "app/cli/record/record_options.h"
#include "app/cli/record/run_environment.h"
#include "app/cli/record/run_progress.h"
#include "app/cli/record/run_recorder.h"
#include "app/cli/record/run_requests.h"
#include "app/cli/version.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/control/observer.h"
#include "engine/launch/host_facts.h"
#include "engine/run/config/run_settings.h"
#include "engine/run/theory/theory.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>

namespace shardscope::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string randomId() {
    std::random_device random;
    std::string id;
    for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", random());
    return id;
}

RunFacts runFacts(const run::RunConfig& config, const std::string& commandLine) {
    RunFacts facts;
    facts.id = randomId();
    facts.configJson = run::toJson(config);
    facts.commandLine = commandLine;
    facts.product = productVersion();
    facts.librariesJson = "{}";
    facts.environmentJson =
        config.hosts.empty() ? environmentJson() : environmentJson(passedEnvironment());
    facts.model = run::modelTitle(config.model);
    facts.strategy = toWord(config.strategy);
    facts.worldSize = config.ranks;
    facts.parameters = theory::parameterCount(config.model);
    facts.startedUnixNs = std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::system_clock::now().time_since_epoch())
                              .count();
    return facts;
}

/// Fills in what was left open and is not the same on every machine, saying so.
Result<void> settle(run::RunConfig& config, RunProgress& progress) {
    if (config.work == run::Work::kMeasuring) config.data = run::kSyntheticData;
    if (config.data.empty() && !run::holdsBytes(config.model)) {
        progress.log("info", fmt::format("Training on tokens drawn at random: a vocabulary of {} "
                                         "holds no text, which is read as bytes; for text give "
                                         "--vocabulary 256 or more.",
                                         config.model.vocabulary));
        config.data = run::kSyntheticData;
    }
    if (config.data.empty()) {
        const auto tree = ownSourceTree();
        if (!tree) return failure(tree);
        progress.log("info", fmt::format("Training on Shardscope's own source tree, {}; choose "
                                         "other text with --data.",
                                         *tree));
        config.data = *tree;
    }
    if (auto settled = settleData(config); !settled) return settled;
    settleThreads(config);
    // Ranks run in separate folders.
    if (config.output.empty()) config.output = RecordOptions::defaultOutput();
    for (std::string* path : {&config.checkpoint, &config.weights, &config.output}) {
        auto whole = wholePath(*path);
        if (!whole) return failure(whole);
        *path = *whole;
    }
    return {};
}

void warnOfCrowding(const run::RunConfig& config, RunRecorder& recorder) {
    if (!config.hosts.empty()) return;
    const int cores = launch::usableCores();
    const std::int64_t wanted = std::int64_t{config.ranks} * config.threads;
    if (wanted <= cores) return;
    recorder.addDiagnostic({Severity::kWarning, "more-ranks-than-cores",
                            fmt::format("{} of {} share {}: times will be longer "
                                        "and less even than on enough cores",
                                        counted(config.ranks, "rank"),
                                        counted(config.threads, "thread"), counted(cores, "core")),
                            "Use fewer ranks or threads.", std::nullopt, Timestamp{0}, 1});
}

std::string endJson(const run::RunConfig& config, const RunEnd& end) {
    const auto orNull = [](const std::optional<double>& value) {
        return value ? Json(*value) : Json();
    };
    const Json json = {{"schema", "shardscope.record/1"},
                       {"status", endWord(end.status)},
                       {"exit_code", end.exitStatus},
                       {"message", end.message},
                       {"output", end.output},
                       {"earlier_outputs", end.earlier},
                       {"model", run::modelTitle(config.model)},
                       {"strategy", toWord(config.strategy)},
                       {"ranks", end.ranks > 0 ? end.ranks : config.ranks},
                       {"parameters", theory::parameterCount(config.model)},
                       {"steps", config.steps},
                       {"steps_done", end.stepsDone},
                       {"steps_kept", end.stepsKept},
                       {"loss_first", orNull(end.lossFirst)},
                       {"loss_last", orNull(end.lossLast)},
                       {"tokens_per_s", orNull(end.tokensPerSecond)},
                       {"events", end.events},
                       {"dropped", end.dropped}};
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

/// A recording within a folder of texts, or beside checkpoints, is not read.
std::vector<std::string> filesRead(const run::RunConfig& config, const std::string& runFile) {
    std::vector<std::string> files;
    for (const std::string& path : {config.data, config.weights, config.tokenizer, runFile}) {
        std::error_code ignored;
        if (std::filesystem::is_regular_file(path, ignored)) files.push_back(path);
    }
    return files;
}

/// Runs from a settled configuration to the end of the recording. `restarted`: why there was one
/// before, if there was.
Result<RunEnd> record(const run::RunConfig& config, const RecordOptions& options,
                      SignalRequests& signals, launch::TaskMeeting* tasks, RunProgress& progress,
                      const std::string& restarted) {
    // Weights that cannot be kept are not worth a step.
    if (!config.checkpoint.empty()) {
        auto tried = checkpoint::tryFolder(config.checkpoint);
        if (!tried) return failure(tried);
        if (!tried->empty()) progress.log("warning", *tried);
    }
    auto request = requestRun(config, signals, progress, tasks);
    if (!request) return failure(request);
    const std::int64_t originNs = request->launch.originNs;
    auto writer = storage::RecordingWriter::create(
        config.output, runFacts(config, options.commandLine(config)), options.force,
        filesRead(config, options.runFile()));
    if (!writer) return failure(writer);
    if (auto limited = writer->limitSize(run::sizeLimitOf(config)); !limited)
        return failure(limited);

    RunRecorder recorder(recordedRunOf(config), originNs, std::move(*writer), progress);
    recorder.addLabel(options.label());
    launch::RunSupervisor run(std::move(*request), recorder);
    recorder.attach(run);
    const auto say = [&progress](const std::string& text) { progress.log("info", text); };
    signals.attach(run, say, [&recorder] { recorder.noteHangup(); });
    if (tasks != nullptr) tasks->attach(run, say);
    if (!options.control.empty()) attachControlInput(run, run::captureWishOf(config), say);
    attachControlSocket(run, config.output, run::captureWishOf(config), say);
    progress.started(config, theory::parameterCount(config.model));
    warnOfCrowding(config, recorder);
    if (tasks != nullptr && tasks->trustsNetwork()) recorder.addDiagnostic(trustedNetworkNote());
    if (!restarted.empty())
        recorder.addDiagnostic(
            {Severity::kNote, "restarted", restarted, "", std::nullopt, Timestamp{0}, 1});
    const launch::RunOutcome outcome = run.run();
    if (const auto lost = lostWords()) recorder.noteLostWords(*lost);
    return recorder.conclude(outcome);
}

/// And goes on where a host is lost, as often as it may; not where a launcher has started the
/// hosts' tasks, which end with them.
Result<RunEnd> recordToTheEnd(run::RunConfig config, const RecordOptions& options,
                              SignalRequests& signals, launch::TaskMeeting* tasks,
                              RunProgress& progress) {
    auto end = record(config, options, signals, tasks, progress, {});
    for (int left = tasks == nullptr ? config.restart : 0; left > 0 && end && end->lostHost;
         --left) {
        progress.log("error", end->message);
        const auto next = withoutHost(config, *end->lostHost);
        if (!next) {
            progress.log("error", next.error().message);
            return end;
        }
        const std::string text = restartText(config, *next, *end->lostHost);
        std::vector<std::string> earlier = end->earlier;
        earlier.push_back(end->output);
        config = *next;
        end = record(config, options, signals, nullptr, progress, text);
        if (end) end->earlier = std::move(earlier);
    }
    return end;
}

std::unique_ptr<RunProgress> makeProgress(const RecordOptions& options) {
    if (!options.control.empty()) return controlProgress();
    return options.quiet ? quietProgress() : terminalProgress();
}

/// From the options to the end of the recording; `config` is what they make.
Result<RunEnd> settleAndRecord(RecordOptions& options, SignalRequests* signals,
                               launch::TaskMeeting* tasks, RunProgress& progress,
                               run::RunConfig& config) {
    auto made = options.config();
    if (!made) return failure(made);
    config = std::move(*made);
    if (auto settled = settle(config, progress); !settled) return failure(settled);
    if (signals != nullptr) return recordToTheEnd(config, options, *signals, tasks, progress);
    auto opened = SignalRequests::open();
    if (!opened) return failure(opened);
    return recordToTheEnd(config, options, *opened, tasks, progress);
}

/// The recorder's part of a run whose tasks were started by a launcher: however it ends, all of
/// them are notified.
Result<RunEnd> recordTasks(RecordOptions& options, const launch::TaskPlace& task,
                           RunProgress& progress, run::RunConfig& config) {
    auto signals = SignalRequests::open();
    if (!signals) return failure(signals);
    auto meeting = meetTasks(
        task, options.interface(), [&] { return !signals->askedToStop(); }, progress);
    if (!meeting) return failure(meeting);
    options.tasks = LaunchedTasks{task.launcher, meeting->hosts()};
    auto end = settleAndRecord(options, &*signals, &*meeting, progress, config);
    meeting->end(end ? end->exitStatus : exitStatus(end.error()));
    return end;
}

/// Files that the run itself would not get past; data on other hosts is theirs.
Result<void> checkDryData(run::RunConfig config) {
    if (!config.hosts.empty()) return {};
    if (config.data.empty()) {
        const auto tree = ownSourceTree();
        if (!tree || config.tokenizer == run::RunConfig{}.tokenizer) return {};
        config.data = *tree;
    }
    return settleData(config);
}

/// Starts nothing, so that there are no tasks to meet.
Result<run::RunConfig> dryConfig(RecordOptions& options,
                                 const std::optional<launch::TaskPlace>& task) {
    if (task) options.tasks = onOneHost(*task);
    auto config = options.config();
    if (config && config->work != run::Work::kTraining)
        return failure(ErrorCode::kUsage,
                       "--dry-run is about training, and this run measures with what memory there "
                       "is; leave it out");
    if (config)
        if (auto there = checkDryData(*config); !there) return failure(there);
    return config;
}

/// As the command line has it before it is known where the tasks are.
Result<run::RunConfig> configBeforeMeeting(RecordOptions& options, const launch::TaskPlace& task) {
    options.tasks = oneAHost(task);
    if (auto config = options.config()) return config;
    options.tasks = onOneHost(task);
    return options.config();
}

/// What is wrong wherever the tasks are, before any task waits for them.
Result<void> checkBeforeMeeting(RecordOptions& options, const launch::TaskPlace& task) {
    auto config = configBeforeMeeting(options, task);
    if (!config) return failure(config);
    return config->data.empty() ? Result<void>() : settleData(*config);
}

/// A task that is not rank 0's.
int serve(RecordOptions& options, const launch::TaskPlace& task) {
    return serveTask(task, [&]() -> Result<run::RunConfig> {
        auto config = configBeforeMeeting(options, task);
        if (!config) return config;
        const auto progress = quietProgress();
        if (auto settled = settle(*config, *progress); !settled) return failure(settled);
        return config;
    });
}

/// Reports the end; the exit status.
int finish(const Result<RunEnd>& end, const RecordOptions& options, const run::RunConfig& config,
           RunProgress& progress) {
    RunEnd result;
    if (end) {
        result = *end;
    } else {
        result.status = RunStatus::kFailed;
        result.exitStatus = exitStatus(end.error());
        result.message = end.error().message;
    }
    progress.finished(result);
    if (options.json) return printLast(endJson(config, result), result.exitStatus);
    return result.exitStatus;
}

/// Rank 0's task.
int recordAsFirst(RecordOptions& options, const launch::TaskPlace& task, RunProgress& progress) {
    run::RunConfig config;
    if (const auto checked = checkBeforeMeeting(options, task); !checked) {
        const int status = finish(failure(checked), options, config, progress);
        dismissTasks(task, options.interface(), status);
        return status;
    }
    return finish(recordTasks(options, task, progress, config), options, config, progress);
}

/// What is wrong with the options of a window; empty: nothing.
std::string kinetoFault(const RecordOptions& options) {
    if (options.withKineto && options.program.empty())
        return "--kineto records a program that follows --; name one, or use `shardscope attach`";
    const auto given = options.kineto.given();
    if (options.withKineto || given.empty()) return {};
    return fmt::format(
        "{} is about a window through PyTorch's profiler; add --kineto, or leave it "
        "out",
        given.front());
}

/// What cannot be asked for of a program; empty: nothing.
std::string programFault(const RecordOptions& options) {
    const char* given = options.dryRun ? "--dry-run" : options.json ? "--json" : nullptr;
    if (options.program.empty() || given == nullptr) return kinetoFault(options);
    return fmt::format(
        "{} is about Shardscope's own training, and here {} is recorded; leave it out", given,
        options.program.front());
}

int runRecord(RecordOptions& options) {
    if (const std::string fault = programFault(options); !fault.empty()) {
        tellError(fault);
        return static_cast<int>(ErrorCode::kUsage);
    }
    if (options.withKineto) return recordKineto(options);
    if (!options.program.empty() && !options.bySlurm()) return recordProgram(options);
    // The end of an agent or of the reader of our output is a write error; it does not end us.
    std::signal(SIGPIPE, SIG_IGN);
    holdHangups();
    if (options.bySlurm() && !options.dryRun) return recordBySlurm(options);
    // A run that does not start needs no secret.
    if (options.dryRun) options.taskOptions.trust = {{}, true};
    const auto task = ownTask(options.taskOptions);
    if (task && *task && !(*task)->isFirst()) return options.dryRun ? 0 : serve(options, **task);
    const auto progress = makeProgress(options);
    run::RunConfig config;
    if (!task) return finish(failure(task), options, config, *progress);
    if (!options.dryRun && *task) return recordAsFirst(options, **task, *progress);
    if (!options.dryRun)
        return finish(settleAndRecord(options, nullptr, nullptr, *progress, config), options,
                      config, *progress);
    const auto dry = dryConfig(options, *task);
    if (dry) return runDry(*dry, options.json);
    return finish(Result<RunEnd>(failure(dry)), options, config, *progress);
}

}  // namespace

Command addRecord(CLI::App& root) {
    CLI::App* app = addVerb(root, "record", "train a model and record all of it");
    const auto options = std::make_shared<RecordOptions>();
    options->addTo(*app);
    return {app, [options] { return runRecord(*options); },
            [options](std::vector<std::string> program) { options->program = std::move(program); }};
}

}  // namespace shardscope::cli
